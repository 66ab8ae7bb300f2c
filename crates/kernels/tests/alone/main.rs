//! Tests of process-wide state, the number of threads and the counters of the pool; they run one at a time.

mod linalg_threads;
mod pool_statistics;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by a test from beginning to end, so that only one runs at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
