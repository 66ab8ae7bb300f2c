//! Memory that somebody waits for: a kernel that completes its output part by part tells whoever follows it, while the part
//! is still in a near cache.
//!
//! Who follows is said around the call of the kernel ([`with`]); a kernel that knows nothing of it is followed when it has ended.

use std::cell::Cell;
use std::ops::Range;

/// What is done with the parts of an output.
pub(crate) trait Follower: Sync {
    /// The bytes that it waits for.
    fn awaits(&self) -> (*const u8, usize);

    /// Agrees to parts of multiples of `granule` elements, from at most `tasks` tasks, of the memory at `start`; false if
    /// it wants the whole.
    fn begin(&self, granule: usize, tasks: usize, start: *mut u8) -> bool;

    /// Some elements are complete.
    ///
    /// # Safety
    /// After `begin` agreed. The elements lie in the memory that it was given, nobody else accesses them during this call, no
    /// element comes twice, and parts of one task come one after the other.
    unsafe fn part(&self, task: usize, elements: Range<usize>);
}

thread_local! {
    static CURRENT: Cell<Option<*const dyn Follower>> = const { Cell::new(None) };
}

/// Runs `body`, whose output `follower` waits for.
pub(crate) fn with<R>(follower: &dyn Follower, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn Follower>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    // SAFETY: only the lifetime changes: `Restore` takes the pointer out of `CURRENT` before this function returns, on every way out, and
    // `of`, which alone reads it, gives it to nobody who outlives `body`.
    let pointer =
        unsafe { std::mem::transmute::<*const (dyn Follower + '_), *const (dyn Follower + 'static)>(follower) };
    let _restore = Restore(CURRENT.replace(Some(pointer)));
    body()
}

/// Whoever waits for the `length` elements from `start` on and agrees to parts, as for [`Follower::begin`].
///
/// # Safety
/// The memory is the caller's output, and what is returned is not used when the caller has returned.
pub(crate) unsafe fn of<'a, T>(start: *mut T, length: usize, granule: usize, tasks: usize) -> Option<&'a dyn Follower> {
    let pointer = CURRENT.get()?;
    // SAFETY: the pointer is in `CURRENT` while `with` runs `body`, further out on this thread: so what it borrows lives until our caller
    // has returned, and longer the reference is not used, as the caller promises.
    let follower = unsafe { &*pointer };
    let awaited = follower.awaits() == (start.cast_const().cast(), length * size_of::<T>());
    (awaited && follower.begin(granule, tasks, start.cast())).then_some(follower)
}
