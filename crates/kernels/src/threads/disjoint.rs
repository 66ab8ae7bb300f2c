//! A slice whose disjoint parts different threads can write.

use std::marker::PhantomData;

/// A mutable slice that can be shared by several threads, each of which takes different parts of it.
pub(crate) struct Disjoint<'a, T> {
    start: *mut T,
    length: usize,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: elements are accessed through `range`, whose callers take disjoint parts, and through `pointer`, whose users guarantee the same
// where they write. So threads that share it access different elements, as if each had been sent its own `&mut [T]`: `T: Send` suffices.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    /// Borrows `slice`, to be divided into parts.
    pub(crate) fn new(slice: &'a mut [T]) -> Disjoint<'a, T> {
        Disjoint { start: slice.as_mut_ptr(), length: slice.len(), owner: PhantomData }
    }

    /// The part of `length` elements from `start` on. Panics if it is out of bounds.
    ///
    /// # Safety
    /// Parts that exist at the same time must not overlap.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn range(&self, start: usize, length: usize) -> &mut [T] {
        assert!(
            start <= self.length && length <= self.length - start,
            "part {start}+{length} of a slice of {}",
            self.length
        );
        // SAFETY: in bounds, as asserted. The slice is borrowed mutably for 'a, which outlives this reference, and the caller guarantees
        // that no part that exists at the same time overlaps it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), length) }
    }

    /// A pointer to element `start`, for parts that are not ranges. Panics if it is out of bounds.
    pub(crate) fn pointer(&self, start: usize) -> *mut T {
        assert!(start < self.length, "element {start} of a slice of {}", self.length);
        self.start.wrapping_add(start)
    }
}
