//! Fork and join: run fixed tiles on several threads.
//!
//! A *region* is one call of [`for_each_tile`]. The caller works on its own tiles and then waits; it never runs work
//! of another region, so nothing on the caller's stack can be interleaved with a stranger's. There is one region at a
//! time: a region that starts while another runs (nested, or from another thread) runs inline on its caller.
//! Tiles are claimed in order by whoever is free; what a tile computes depends on its index alone.

mod disjoint;
mod region;

pub(crate) use disjoint::Disjoint;

use crate::pool::OutOfMemory;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Total threads, the caller included; 0 until the first use.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Elements from which on elementwise work is worth a region.
pub(crate) const PARALLEL_ELEMENTS: usize = 32 * 1024;

/// Elements of one tile of a region; a multiple of every smaller tile size.
pub(crate) const REGION_TILE: usize = 16 * 1024;

/// Elements per tile for `length` elements in all: one tile when the work is not worth a region.
pub(crate) fn tile_elements(length: usize) -> usize {
    if length < PARALLEL_ELEMENTS { length.max(1) } else { REGION_TILE }
}

/// Sets how many threads regions use, the caller included. Any number from one on, whatever the machine has.
///
/// ```
/// wengert_kernels::set_threads(3);
/// assert_eq!(wengert_kernels::threads::threads(), 3);
/// ```
pub fn set_threads(n: usize) {
    assert!(n >= 1, "set_threads: at least the calling thread works, so n must be 1 or more");
    THREADS.store(n, Ordering::Relaxed);
}

/// How many threads regions use, the caller included: `WENGERT_THREADS` or the number of cores unless set.
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

/// Calls `body(0), .., body(tiles - 1)`, each once, on several threads, and returns when all have ended.
///
/// A panic in a tile reaches the caller after all tiles have ended.
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

/// Keeps the first panic. Of others only those are dropped whose destructor is known: one that panics would leave a region before its
/// workers have.
fn keep_first(kept: &mut Option<Payload>, payload: Payload) {
    match kept {
        None => *kept = Some(payload),
        Some(_) if payload.is::<OutOfMemory>() || payload.is::<String>() || payload.is::<&str>() => drop(payload),
        Some(_) => std::mem::forget(payload),
    }
}

/// All tiles on the calling thread, with the same treatment of panics as a region.
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
        // SAFETY: `for_each_tile` runs each index once, and chunk `index` is the elements from `index * chunk` on, fewer than `chunk` more.
        body(index, unsafe { shared.range(start, chunk.min(length - start)) });
    });
}

#[cfg(test)]
mod tests;
