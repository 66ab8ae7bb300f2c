//! Blocks above the size classes, from the system through a cache that a training loop lives from.
//!
//! A free block serves requests of 80 % to 100 % of its capacity; the tightest fit wins, then
//! the block that was in use last. The cache holds at most
//! 1 GiB; when it would grow beyond, the blocks that lay unused for longest go back to the system.

use super::class::LARGE;
use super::header::{HEADER, Header};
use super::{statistics, system};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

/// Bytes that may lie in the cache.
const CACHE_LIMIT: usize = 1 << 30;

#[derive(Default)]
struct Cache {
    /// `(capacity, stamp)` of each free block; stamps grow, so the smallest stamp is the oldest block.
    by_size: BTreeMap<(usize, u64), FreeBlock>,
    /// Stamp to capacity.
    by_age: BTreeMap<u64, usize>,
    bytes: usize,
    stamp: u64,
}

struct FreeBlock(NonNull<Header>);

// SAFETY: a free block is referred to by the cache alone.
unsafe impl Send for FreeBlock {}

static CACHE: Mutex<Option<Cache>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Cache>> {
    CACHE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A block with room for `bytes`, on no list.
#[cold]
#[inline(never)]
pub(super) fn take(bytes: usize) -> NonNull<Header> {
    let total = bytes.checked_add(HEADER).and_then(system::round).unwrap_or_else(|| system::out_of_memory(bytes));
    let capacity = total - HEADER;
    let cached = lock().as_mut().and_then(|cache| cache.take(capacity));
    let header = cached.unwrap_or_else(|| fresh(capacity, bytes));
    // SAFETY: the block is live and ours.
    statistics::add_large(unsafe { (*header.as_ptr()).capacity } as isize);
    header
}

/// Takes back a large block.
///
/// # Safety
/// The block came from [`take`] and nothing refers to it any more.
#[cold]
#[inline(never)]
pub(super) unsafe fn give(header: NonNull<Header>) {
    // SAFETY: the block is live and handed over.
    let capacity = unsafe { (*header.as_ptr()).capacity };
    statistics::add_large(-(capacity as isize));
    let mut evicted = Vec::new();
    lock().get_or_insert_default().give(header, capacity, &mut evicted);
    // The system is called without the lock.
    for FreeBlock(header) in evicted {
        // SAFETY: evicted blocks came from `fresh`, and nothing refers to them.
        unsafe { system::release(header.cast(), (*header.as_ptr()).capacity + HEADER) };
    }
}

/// Bytes in the cache.
pub(super) fn cached_bytes() -> usize {
    lock().as_ref().map_or(0, |cache| cache.bytes)
}

/// When the system refuses, the cache is emptied and the system asked once more.
fn fresh(capacity: usize, bytes: usize) -> NonNull<Header> {
    let total = capacity + HEADER;
    let pointer = system::allocate(total).or_else(|| {
        let cache = lock().take();
        for FreeBlock(header) in cache.into_iter().flat_map(|cache| cache.by_size.into_values()) {
            // SAFETY: blocks of the cache came from `fresh`, and nothing refers to them.
            unsafe { system::release(header.cast(), (*header.as_ptr()).capacity + HEADER) };
        }
        system::allocate(total)
    });
    let header = pointer.unwrap_or_else(|| system::out_of_memory(bytes)).cast::<Header>();
    // SAFETY: `total` fresh bytes, aligned to 64 at least.
    unsafe { header.write(Header::new(capacity, LARGE)) };
    header
}

impl Cache {
    /// The smallest block of at least `capacity` bytes and at most a quarter more; of equals the one that was in use
    /// last, which may still lie in a cache of the processor.
    fn take(&mut self, capacity: usize) -> Option<NonNull<Header>> {
        let fitting = (capacity, 0)..=(capacity + capacity / 4, u64::MAX);
        let (tightest, _) = *self.by_size.range(fitting).next()?.0;
        let key = *self.by_size.range((tightest, 0)..=(tightest, u64::MAX)).next_back()?.0;
        let FreeBlock(header) = self.by_size.remove(&key)?;
        self.by_age.remove(&key.1);
        self.bytes -= key.0;
        Some(header)
    }

    fn give(&mut self, header: NonNull<Header>, capacity: usize, evicted: &mut Vec<FreeBlock>) {
        self.stamp += 1;
        self.by_size.insert((capacity, self.stamp), FreeBlock(header));
        self.by_age.insert(self.stamp, capacity);
        self.bytes += capacity;
        while self.bytes > CACHE_LIMIT
            && let Some((stamp, capacity)) = self.by_age.pop_first()
        {
            evicted.extend(self.by_size.remove(&(capacity, stamp)));
            self.bytes -= capacity;
        }
    }
}
