//! Blocks above the size classes, from the system through a cache that serves repeated requests, as in a training loop.
//!
//! A free block serves requests of 80 % to 100 % of its capacity. The tightest fit wins, then the most recently used block. The cache holds
//! at most 1 GiB; when it would grow beyond that, the least recently used blocks are returned to the system.

use super::class::LARGE;
use super::header::{HEADER, Header};
use super::limit::OutOfMemory;
use super::{budget, counters, system};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

/// The most bytes in the cache.
const CACHE_LIMIT: usize = if super::IS_WATCHED { 0 } else { 1 << 30 };

/// The lists keep their capacity, so a loop that takes and returns the same sizes allocates nothing.
struct Cache {
    /// By capacity, ascending; some may have no blocks.
    sizes: Vec<Size>,
    /// The stamp and capacity of every block that was returned, oldest first; some of them have been taken again.
    ages: VecDeque<(u64, usize)>,
    blocks: usize,
    bytes: usize,
    stamp: u64,
}

/// Free blocks of one capacity.
struct Size {
    capacity: usize,
    /// With their stamps, oldest first.
    blocks: VecDeque<(u64, FreeBlock)>,
}

struct FreeBlock(NonNull<Header>);

// SAFETY: only the cache refers to a free block.
unsafe impl Send for FreeBlock {}

static CACHE: Mutex<Option<Cache>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Cache>> {
    CACHE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Takes a block with room for `bytes`; it is on no list.
#[cold]
#[inline(never)]
pub(super) fn take(bytes: usize) -> NonNull<Header> {
    // Within a limit, a larger block would take more than was requested.
    taken(bytes, system::round, if budget::is_checked() { 0 } else { 4 })
}

/// Takes a block that has no more room than whole pages, for one that stays.
#[cold]
#[inline(never)]
pub(super) fn take_tight(bytes: usize) -> NonNull<Header> {
    taken(bytes, system::round_to_pages, 0)
}

/// A block of the rounded size, or one of the cache that is larger by at most that over `slack`.
fn taken(bytes: usize, round: fn(usize) -> Option<usize>, slack: usize) -> NonNull<Header> {
    // The header comes on top: a tensor of 1 MiB takes just that.
    let capacity = round(bytes).unwrap_or_else(|| OutOfMemory::of(bytes).raise());
    budget::request(capacity);
    let most = capacity + capacity.checked_div(slack).unwrap_or(0);
    let cached = lock().as_mut().and_then(|cache| cache.take(capacity, most));
    let header = cached.unwrap_or_else(|| fresh(capacity, bytes));
    // SAFETY: `fresh` wrote the header, and the block is on no list: it is ours until it is returned.
    counters::add_large(unsafe { (*header.as_ptr()).capacity } as isize);
    header
}

/// Takes back a large block.
///
/// # Safety
/// The block came from [`take`] and nothing refers to it any more.
#[cold]
#[inline(never)]
pub(super) unsafe fn give(header: NonNull<Header>) {
    // SAFETY: `fresh` wrote the header, and the caller guarantees that there is no other reference to the block.
    let capacity = unsafe { (*header.as_ptr()).capacity };
    counters::add_large(-(capacity as isize));
    let mut evicted = Vec::new();
    lock().get_or_insert_with(Cache::new).give(header, capacity, &mut evicted);
    // The system is called without holding the lock.
    for FreeBlock(header) in evicted {
        // SAFETY: evicted blocks came from `fresh`, and nothing refers to them.
        unsafe { system::release(header.cast(), (*header.as_ptr()).capacity + HEADER) };
    }
}

/// Bytes in the cache.
pub(super) fn cached_bytes() -> usize {
    lock().as_ref().map_or(0, |cache| cache.bytes)
}

/// If the system refuses, the cache is emptied and the system is asked once more.
fn fresh(capacity: usize, bytes: usize) -> NonNull<Header> {
    let total = capacity.checked_add(HEADER).unwrap_or_else(|| OutOfMemory::of(bytes).raise());
    let pointer = system::allocate(total).or_else(|| {
        let cache = lock().take();
        let sizes = cache.into_iter().flat_map(|cache| cache.sizes);
        for (_, FreeBlock(header)) in sizes.flat_map(|size| size.blocks) {
            // SAFETY: blocks of the cache came from `fresh`, and nothing refers to them.
            unsafe { system::release(header.cast(), (*header.as_ptr()).capacity + HEADER) };
        }
        system::allocate(total)
    });
    let header = pointer.unwrap_or_else(|| OutOfMemory::of(bytes).raise()).cast::<Header>();
    // SAFETY: `total` fresh bytes, aligned to 64 at least.
    unsafe { header.write(Header::new(capacity, LARGE)) };
    header
}

/// Lists with stale entries are compacted when they are longer than this and more than half of their entries are stale.
const GONE: usize = 1024;

impl Cache {
    fn new() -> Cache {
        let (sizes, ages) = (Vec::with_capacity(GONE / 4), VecDeque::with_capacity(2 * GONE));
        Cache { sizes, ages, blocks: 0, bytes: 0, stamp: 0 }
    }

    /// The smallest block of at least `capacity` bytes and at most `most`; among equals the most recently used one, which may still be in a
    /// processor cache.
    fn take(&mut self, capacity: usize, most: usize) -> Option<NonNull<Header>> {
        let first = self.sizes.partition_point(|size| size.capacity < capacity);
        let fitting = self.sizes[first..].iter_mut().take_while(|size| size.capacity <= most);
        for size in fitting {
            if let Some((_, FreeBlock(header))) = size.blocks.pop_back() {
                self.blocks -= 1;
                self.bytes -= size.capacity;
                return Some(header);
            }
        }
        None
    }

    fn give(&mut self, header: NonNull<Header>, capacity: usize, evicted: &mut Vec<FreeBlock>) {
        self.stamp += 1;
        let place = self.sizes.binary_search_by_key(&capacity, |size| size.capacity).unwrap_or_else(|place| {
            self.sizes.insert(place, Size { capacity, blocks: VecDeque::new() });
            place
        });
        self.sizes[place].blocks.push_back((self.stamp, FreeBlock(header)));
        self.ages.push_back((self.stamp, capacity));
        self.blocks += 1;
        self.bytes += capacity;
        while self.bytes > CACHE_LIMIT
            && let Some((stamp, capacity)) = self.ages.pop_front()
        {
            // The oldest entry is the oldest block of its capacity; if the oldest block there is younger, this one has been taken.
            let blocks = self.of(capacity).map(|size| &mut size.blocks);
            let oldest = blocks.and_then(|blocks| blocks.pop_front_if(|(own, _)| *own == stamp));
            if let Some((_, block)) = oldest {
                evicted.push(block);
                self.blocks -= 1;
                self.bytes -= capacity;
            }
        }
        self.forget();
    }

    fn of(&mut self, capacity: usize) -> Option<&mut Size> {
        let place = self.sizes.binary_search_by_key(&capacity, |size| size.capacity).ok()?;
        Some(&mut self.sizes[place])
    }

    /// Removes stale entries from the lists.
    fn forget(&mut self) {
        if self.ages.len() > GONE + 2 * self.blocks {
            let mut ages = std::mem::take(&mut self.ages);
            ages.retain(|(stamp, capacity)| {
                self.of(*capacity).is_some_and(|size| size.blocks.binary_search_by_key(stamp, |(own, _)| *own).is_ok())
            });
            self.ages = ages;
        }
        if self.sizes.len() > GONE + 2 * self.blocks {
            self.sizes.retain(|size| !size.blocks.is_empty());
        }
    }
}
