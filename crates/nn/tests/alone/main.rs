//! Tests that count the bytes of the process, so they run one at a time.

mod losses;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by a test from beginning to end, because the counts include all threads.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
