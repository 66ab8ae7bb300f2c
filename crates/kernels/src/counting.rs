//! An allocator that counts, for tests of what claims to allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a count of the allocations of all threads and of their bytes.
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
    /// With a count of 0.
    pub const fn new() -> CountingAllocator {
        CountingAllocator { count: AtomicUsize::new(0), bytes: AtomicUsize::new(0), freed: AtomicUsize::new(0) }
    }

    /// How often memory was asked for, new or longer.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many bytes that were, whatever was given back.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many bytes have not been given back.
    pub fn live(&self) -> usize {
        self.bytes().saturating_sub(self.freed.load(Ordering::Relaxed))
    }

    fn add(&self, bytes: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of callers.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller keeps the promises of `alloc`, which are those of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller keeps the promises of `alloc_zeroed`, which are those of the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add(size);
        self.freed.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the memory came from the system's allocator, by way of this one, with this layout, as the caller promised of us.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.freed.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the memory came from the system's allocator, by way of this one, with this layout, as the caller promised of us.
        unsafe { System.dealloc(memory, layout) }
    }
}
