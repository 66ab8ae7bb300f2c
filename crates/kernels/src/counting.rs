//! An allocator that counts, for tests of what claims to allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a count of the allocations of all threads.
///
/// ```
/// use wengert_kernels::counting::CountingAllocator;
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator::new();
/// let before = ALLOCATOR.count();
/// let list = vec![1, 2, 3];
/// assert_eq!(ALLOCATOR.count(), before + 1);
/// # drop(list);
/// ```
#[derive(Debug, Default)]
pub struct CountingAllocator(AtomicUsize);

impl CountingAllocator {
    /// With a count of 0.
    pub const fn new() -> CountingAllocator {
        CountingAllocator(AtomicUsize::new(0))
    }

    /// How often memory was asked for, new or longer.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of callers.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`, which are those of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as in `alloc`; the memory came from the system's allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}
