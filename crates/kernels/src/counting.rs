//! A counting allocator, for tests that check that code allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system allocator, with a count of the allocations of all threads and of their bytes.
///
/// ```
/// use wengert_kernels::counting::CountingAllocator;
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator::new();
/// let before = ALLOCATOR.count();
/// let list = vec![1, 2, 3];
/// assert_eq!(ALLOCATOR.count(), before + 1);
/// assert!(ALLOCATOR.bytes() >= 3 * size_of::<i32>());
/// let live = ALLOCATOR.live();
/// drop(list);
/// assert_eq!(ALLOCATOR.live(), live - 3 * size_of::<i32>());
/// ```
#[derive(Debug, Default)]
pub struct CountingAllocator {
    count: AtomicUsize,
    bytes: AtomicUsize,
    freed: AtomicUsize,
}

impl CountingAllocator {
    /// An allocator with a count of 0.
    pub const fn new() -> CountingAllocator {
        CountingAllocator { count: AtomicUsize::new(0), bytes: AtomicUsize::new(0), freed: AtomicUsize::new(0) }
    }

    /// The number of allocations and reallocations.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The total number of bytes allocated, including bytes that were freed.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of bytes currently allocated.
    pub fn live(&self) -> usize {
        self.bytes().saturating_sub(self.freed.load(Ordering::Relaxed))
    }

    fn add(&self, bytes: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded unchanged to the system allocator; counting touches no memory of callers.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`, which is that of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller upholds the contract of `alloc_zeroed`, which is that of the system allocator.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add(size);
        self.freed.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees that the memory came from this allocator, and so from the system allocator, with this layout.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.freed.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees that the memory came from this allocator, and so from the system allocator, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}
