//! The byte counters behind the statistics.

use std::sync::atomic::{AtomicIsize, Ordering};

static SMALL: AtomicIsize = AtomicIsize::new(0);
static LARGE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

pub(super) fn live() -> usize {
    (SMALL.load(Ordering::Relaxed) + LARGE.load(Ordering::Relaxed)).max(0) as usize
}

pub(super) fn add_small(change: isize) {
    SMALL.fetch_add(change, Ordering::Relaxed);
    raise_peak(change);
}

pub(super) fn add_large(change: isize) {
    LARGE.fetch_add(change, Ordering::Relaxed);
    raise_peak(change);
}

fn raise_peak(change: isize) {
    if change > 0 {
        PEAK.fetch_max(live() as isize, Ordering::Relaxed);
    }
}

/// Bytes of small blocks in use.
pub(super) fn small() -> usize {
    SMALL.load(Ordering::Relaxed).max(0) as usize
}

/// The peak of the live bytes.
pub(super) fn peak() -> usize {
    PEAK.load(Ordering::Relaxed).max(0) as usize
}

/// Resets the peak.
pub(super) fn reset() {
    PEAK.store(live() as isize, Ordering::Relaxed);
}
