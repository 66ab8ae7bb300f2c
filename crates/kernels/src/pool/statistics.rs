//! Counts bytes without slowing down allocation.
//!
//! Large blocks are counted exactly. Small ones accumulate in their thread up to 64 KiB before they are reported, so while other threads
//! run, the numbers may lag by 64 KiB per thread. Those of the calling thread are exact, except that a peak between two reports may be
//! missed by as much.

#[cfg(doc)]
use super::Block;
use super::{counters, large, local, shared};

/// The memory held by the pool, in bytes of data. Headers and foreign memory ([`Block::from_vec`], [`Block::from_owner`]) are not counted.
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
    /// The total capacity of the blocks in use.
    pub live_bytes: usize,
    /// The largest `live_bytes` since the start or the last [`reset_peak`].
    pub peak_bytes: usize,
    /// The total capacity of the free blocks that can be reused.
    pub cached_bytes: usize,
}

/// The current state of the pool.
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

/// Resets the peak to the current live bytes.
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
