//! Limits on the memory in use: a request beyond one first asks its owner to make room, and is refused if that is not enough.

use super::counters;
use super::limit::{Excess, OutOfMemory};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Frees memory of the pool, at least so many bytes if possible, and returns whether it freed any.
type MakeRoom = Rc<dyn Fn(usize) -> bool>;

thread_local! {
    /// The limits around the running code, the innermost last.
    static LIMITS: RefCell<Vec<(usize, MakeRoom)>> = const { RefCell::new(Vec::new()) };
    /// Whether requests are checked: there is a limit, and nobody makes room at the moment.
    static IS_CHECKED: Cell<bool> = const { Cell::new(false) };
    /// While the need is measured: the largest number of bytes in use that a request led to.
    static MEASURED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs `f`. A request of this thread that would leave more than `limit` bytes of the pool in use first calls `make_room` with the number of
/// bytes in excess, as long as that frees any. If there are still too many, the request fails as if the machine had no more memory. Small
/// blocks are checked every 64 KiB. Inside another limit both hold.
///
/// ```standalone_crate
/// use std::{cell::RefCell, rc::Rc};
/// use wengert_kernels::{Block, pool};
/// let kept = Rc::new(RefCell::new(vec![Block::new(1 << 20)]));
/// let shared = kept.clone();
/// let limit = pool::statistics().live_bytes + (1 << 16);
/// // The second block has no room beside the first one.
/// let block = pool::within(limit, move |_| shared.borrow_mut().pop().is_some(), || Block::new(1 << 20));
/// assert!(kept.borrow().is_empty() && block.len() == 1 << 20);
/// let refused = pool::within(1, |_| false, || pool::attempt(|| Block::new(1 << 20))).unwrap_err();
/// assert!(refused.bytes >= 1 << 20);
/// assert_eq!(refused.excess.unwrap().limit, 1);
/// ```
pub fn within<R>(limit: usize, make_room: impl Fn(usize) -> bool + 'static, f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            LIMITS.with_borrow_mut(Vec::pop);
            IS_CHECKED.set(self.0);
        }
    }
    LIMITS.with_borrow_mut(|limits| limits.push((limit, Rc::new(make_room))));
    let _restore = Restore(IS_CHECKED.replace(true));
    f()
}

/// Runs `f` while `make_room` frees as much as it can before every checked request, and returns the most bytes that were in use after that:
/// the smallest limit for [`within`]. No request is refused.
///
/// ```standalone_crate
/// use wengert_kernels::{Block, pool};
/// let before = pool::statistics().live_bytes;
/// let (_, least) = pool::measured(|_| false, || drop(Block::new(1 << 20)));
/// assert!(least >= before + (1 << 20));
/// ```
pub fn measured<R>(make_room: impl Fn(usize) -> bool + 'static, f: impl FnOnce() -> R) -> (R, usize) {
    struct Restore(Option<usize>);
    impl Drop for Restore {
        fn drop(&mut self) {
            MEASURED.set(self.0);
        }
    }
    let restore = Restore(MEASURED.replace(Some(counters::live())));
    let result = within(0, make_room, f);
    let least = MEASURED.get().unwrap_or_default();
    drop(restore);
    (result, least)
}

/// Makes room for this many more bytes, if there is a limit.
#[inline]
pub(super) fn request(bytes: usize) {
    if is_checked() {
        request_checked(bytes);
    }
}

/// Whether requests are compared with a limit.
#[inline]
pub(super) fn is_checked() -> bool {
    IS_CHECKED.try_with(Cell::get) == Ok(true)
}

#[cold]
#[inline(never)]
fn request_checked(bytes: usize) {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_CHECKED.set(true);
        }
    }
    let limits = LIMITS.with_borrow(Clone::clone);
    let Some(limit) = limits.iter().map(|(limit, _)| *limit).min() else { return };
    let wanted = || counters::live().saturating_add(bytes);
    IS_CHECKED.set(false);
    let restore = Restore;
    for (_, make_room) in limits.iter().rev() {
        while wanted() > limit && make_room(wanted() - limit) {
            super::local::report();
        }
    }
    drop(restore);
    if let Some(most) = MEASURED.get() {
        MEASURED.set(Some(most.max(wanted())));
    } else if wanted() > limit {
        let available = Some(limit.saturating_sub(counters::live()));
        OutOfMemory { bytes, available, excess: Some(Excess { limit, least: wanted() }) }.raise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Block;
    use crate::pool::attempt;

    #[test]
    fn both_limits_hold_and_the_inner_one_makes_room_first() {
        let asked = Rc::new(RefCell::new(Vec::new()));
        let ask = |name: &'static str| {
            let asked = asked.clone();
            move |_: usize| {
                asked.borrow_mut().push(name);
                false
            }
        };
        let refused = within(1, ask("outer"), || within(usize::MAX, ask("inner"), || attempt(|| Block::new(1 << 20))));
        assert_eq!(refused.unwrap_err().excess.map(|excess| excess.limit), Some(1));
        assert_eq!(*asked.borrow(), ["inner", "outer"]);
        drop(Block::new(1 << 20));
    }

    #[test]
    fn small_blocks_are_refused_after_64_kib_at_most() {
        let mut blocks = Vec::new();
        let refused = within(1, |_| false, || attempt(|| (0..1 << 12).for_each(|_| blocks.push(Block::new(1 << 10)))));
        // The thread may have given back as much just before.
        assert!(refused.is_err() && blocks.len() <= 128, "{refused:?} after {}", blocks.len());
        drop(blocks);
        drop(Block::new(1 << 10));
    }
}
