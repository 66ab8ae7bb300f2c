//! Fork-join parallelism: runs fixed tiles on several threads.
//!
//! A *region* is one call of [`for_each_tile`]. The caller works on its own tiles and then waits. It never runs work of another region, so
//! no unrelated work is interleaved on the caller's stack. There is one region at a time: a region that starts while another runs (nested,
//! or from another thread) runs inline on its caller. Free threads claim tiles in order; the result of a tile depends only on its index.

mod disjoint;
mod region;

pub(crate) use disjoint::Disjoint;

use crate::pool::OutOfMemory;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The total number of threads, including the caller; 0 until the first use.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The number of elements from which elementwise work pays for a region.
pub(crate) const PARALLEL_ELEMENTS: usize = 32 * 1024;

/// The number of elements in one tile of a region; a multiple of every smaller tile size.
pub(crate) const REGION_TILE: usize = 16 * 1024;

/// The number of elements per tile, for `length` elements in total: one tile if the work does not pay for a region.
pub(crate) fn tile_elements(length: usize) -> usize {
    if length < PARALLEL_ELEMENTS { length.max(1) } else { REGION_TILE }
}

/// Sets the number of threads that regions use, including the caller. It must be at least one and may exceed the number of cores.
///
/// ```
/// wengert_kernels::set_threads(3);
/// assert_eq!(wengert_kernels::threads::threads(), 3);
/// ```
pub fn set_threads(n: usize) {
    assert!(n >= 1, "set_threads: at least the calling thread works, so n must be 1 or more");
    THREADS.store(n, Ordering::Relaxed);
}

/// The number of threads that regions use, including the caller: `WENGERT_THREADS` or the number of cores unless set.
///
/// ```
/// assert!(wengert_kernels::threads::threads() >= 1);
/// ```
#[inline]
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => default_threads(),
        n => n,
    }
}

#[cold]
fn default_threads() -> usize {
    let n = std::env::var("WENGERT_THREADS")
        .ok()
        .and_then(|value| value.trim().parse().ok())
        .filter(|&n| n >= 1)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    // A concurrent `set_threads` wins.
    match THREADS.compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => n,
        Err(set) => set,
    }
}

/// Calls `body(0), .., body(tiles - 1)`, each once, on several threads, and returns when all have finished.
///
/// A panic in a tile reaches the caller after all tiles have finished.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// wengert_kernels::for_each_tile(10, &|tile| { sum.fetch_add(tile, Ordering::Relaxed); });
/// assert_eq!(sum.into_inner(), 45);
/// ```
pub fn for_each_tile(tiles: usize, body: &(dyn Fn(usize) + Sync)) {
    match tiles {
        0 => {}
        1 => body(0),
        _ if threads() > 1 && region::run(tiles, body) => {}
        _ => run_inline(tiles, body),
    }
}

type Payload = Box<dyn Any + Send>;

/// Keeps the first panic payload. Others are dropped only if their destructor is known: a destructor that panics would leave a region
/// before its workers have left.
fn keep_first(kept: &mut Option<Payload>, payload: Payload) {
    match kept {
        None => *kept = Some(payload),
        Some(_) if payload.is::<OutOfMemory>() || payload.is::<String>() || payload.is::<&str>() => drop(payload),
        Some(_) => std::mem::forget(payload),
    }
}

/// Runs all tiles on the calling thread, handling panics in the same way as a region.
fn run_inline(tiles: usize, body: &(dyn Fn(usize) + Sync)) {
    let mut next = 0;
    let mut panic = None;
    while next < tiles {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            while next < tiles {
                next += 1;
                body(next - 1);
            }
        }));
        if let Err(payload) = outcome {
            keep_first(&mut panic, payload);
        }
    }
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

/// Cuts `out` into chunks of `chunk` elements (the last may be shorter) and calls `body(index, chunk)` for each.
///
/// ```
/// let mut squares = [0; 10];
/// wengert_kernels::for_each_chunk(&mut squares, 4, &|index, chunk| {
///     for (i, value) in chunk.iter_mut().enumerate() { *value = (index * 4 + i).pow(2); }
/// });
/// assert_eq!(squares[9], 81);
/// ```
pub fn for_each_chunk<T: Send>(out: &mut [T], chunk: usize, body: &(dyn Fn(usize, &mut [T]) + Sync)) {
    assert!(chunk > 0, "for_each_chunk: a chunk has at least one element");
    let length = out.len();
    let shared = Disjoint::new(out);
    for_each_tile(length.div_ceil(chunk), &|index| {
        let start = index * chunk;
        // SAFETY: `for_each_tile` runs each index once, and chunk `index` is at most `chunk` elements from `index * chunk` on.
        body(index, unsafe { shared.range(start, chunk.min(length - start)) });
    });
}

#[cfg(test)]
mod tests;
