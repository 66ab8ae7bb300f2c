//! Tests of what belongs to the process, the number of threads and the counters of the pool, so that they take turns.

mod linalg_threads;
mod pool_statistics;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time, from its beginning to its end.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
