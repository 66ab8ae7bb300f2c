//! Tests that count the bytes or allocations of the process, so they run one at a time.

mod allocations;
mod bodies;
mod memory;
mod memory_budget;
mod memory_of_derivatives;
mod memory_report;

use std::sync::{Mutex, MutexGuard, PoisonError};
use wengert_kernels::counting::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Held by a test from beginning to end, because the counts include all threads.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
