//! A slice whose disjoint parts are written by different threads.

use std::marker::PhantomData;

/// A mutable slice that can be handed to several threads, each of which takes other parts of it.
pub(crate) struct Disjoint<'a, T> {
    start: *mut T,
    length: usize,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: elements are reached through `range`, whose callers take disjoint parts, and through `pointer`, whose users say the same where
// they write. So threads that share it have different elements, as if each had been sent its own `&mut [T]`: `T: Send` suffices.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    /// Borrows `slice` for parts.
    pub(crate) fn new(slice: &'a mut [T]) -> Disjoint<'a, T> {
        Disjoint { start: slice.as_mut_ptr(), length: slice.len(), owner: PhantomData }
    }

    /// The part of `length` elements from `start` on. Panics when it does not lie in the slice.
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
        // SAFETY: in bounds, as asserted; the slice is borrowed mutably for 'a, which outlives this reference, and the caller promises
        // that no other part of it that exists meanwhile overlaps.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), length) }
    }

    /// A pointer to element `start`, for parts that are no ranges. Panics when it does not lie in the slice.
    pub(crate) fn pointer(&self, start: usize) -> *mut T {
        assert!(start < self.length, "element {start} of a slice of {}", self.length);
        self.start.wrapping_add(start)
    }
}
