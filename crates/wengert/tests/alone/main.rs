//! Tests that count bytes or allocations of the process, so that they take turns.

mod allocations;
mod bodies;
mod memory;
mod memory_of_derivatives;

use std::sync::{Mutex, MutexGuard, PoisonError};
use wengert_kernels::counting::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// One test at a time, from its beginning to its end: counts are those of all threads.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
