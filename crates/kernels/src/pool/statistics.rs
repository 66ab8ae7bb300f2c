//! Counting bytes without slowing allocation down.
//!
//! Large blocks count exactly. Small ones gather in their thread up to 64 KiB before they are reported, so with other
//! threads running the numbers may lag by 64 KiB a thread; those of the calling thread are exact, except that a peak
//! between two reports may be missed by as much.

#[cfg(doc)]
use super::Block;
use super::{counters, large, local, shared};

/// What the pool holds, in bytes of data. Headers are not counted, nor is memory from elsewhere ([`Block::from_vec`],
/// [`Block::from_owner`]).
///
/// ```
/// use wengert_kernels::{Block, pool};
/// let before = pool::statistics().live_bytes;
/// let block = Block::new(1 << 20);
/// assert!(pool::statistics().live_bytes >= before + block.len());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Capacity of the blocks in use.
    pub live_bytes: usize,
    /// The largest `live_bytes` since the start or the last [`reset_peak`].
    pub peak_bytes: usize,
    /// Capacity of the free blocks that wait to be used again.
    pub cached_bytes: usize,
}

/// The state of the pool now.
///
/// ```
/// let now = wengert_kernels::pool::statistics();
/// assert!(now.peak_bytes >= now.live_bytes);
/// ```
pub fn statistics() -> PoolStatistics {
    local::report();
    let live_bytes = counters::live();
    PoolStatistics {
        live_bytes,
        peak_bytes: live_bytes.max(counters::peak()),
        cached_bytes: shared::cut_bytes().saturating_sub(counters::small()) + large::cached_bytes(),
    }
}

/// Starts a new peak at what is live now.
///
/// ```
/// use wengert_kernels::{Block, pool};
/// drop(Block::new(8 << 20));
/// pool::reset_peak();
/// let now = pool::statistics();
/// assert!(now.peak_bytes < now.live_bytes + (8 << 20));
/// ```
pub fn reset_peak() {
    local::report();
    counters::reset();
}
