//! Followers of kernel outputs: a kernel that completes its output part by part notifies its follower while the part is still in a near
//! cache.
//!
//! The follower is set around the call of the kernel ([`with`]). If a kernel does not support followers, the follower runs after it has
//! finished.

use std::cell::Cell;
use std::ops::Range;

/// Code that consumes the parts of an output as they are completed.
pub(crate) trait Follower: Sync {
    /// The bytes that the follower waits for.
    fn awaits(&self) -> (*const u8, usize);

    /// Accepts parts of multiples of `granule` elements of the memory at `start`, from at most `tasks` tasks. Returns false if the follower
    /// needs the whole output at once.
    fn begin(&self, granule: usize, tasks: usize, start: *mut u8) -> bool;

    /// Called when some elements are complete.
    ///
    /// # Safety
    /// `begin` returned true. The elements lie in the memory passed to it, no other code accesses them during this call, no element is
    /// passed twice, and the parts of one task come one after the other.
    unsafe fn part(&self, task: usize, elements: Range<usize>);
}

thread_local! {
    static CURRENT: Cell<Option<*const dyn Follower>> = const { Cell::new(None) };
}

/// Runs `body`, with `follower` waiting for its output.
pub(crate) fn with<R>(follower: &dyn Follower, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn Follower>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    // SAFETY: only the lifetime changes. `Restore` removes the pointer from `CURRENT` before this function returns, on every path, and only
    // `of` reads it, which gives it to no one who outlives `body`.
    let pointer =
        unsafe { std::mem::transmute::<*const (dyn Follower + '_), *const (dyn Follower + 'static)>(follower) };
    let _restore = Restore(CURRENT.replace(Some(pointer)));
    body()
}

/// The follower of the `length` elements from `start` on, if there is one and it accepts parts; see [`Follower::begin`].
///
/// # Safety
/// The memory is the caller's output, and the returned reference is not used after the caller has returned.
pub(crate) unsafe fn of<'a, T>(start: *mut T, length: usize, granule: usize, tasks: usize) -> Option<&'a dyn Follower> {
    let pointer = CURRENT.get()?;
    // SAFETY: the pointer is in `CURRENT` while `with` runs `body`, further up the stack of this thread. So the follower lives until our
    // caller has returned, and the caller guarantees not to use the reference longer.
    let follower = unsafe { &*pointer };
    let awaited = follower.awaits() == (start.cast_const().cast(), length * size_of::<T>());
    (awaited && follower.begin(granule, tasks, start.cast())).then_some(follower)
}
