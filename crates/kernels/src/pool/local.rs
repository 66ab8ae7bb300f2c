//! The free lists of one thread: the fast path of allocation, without atomics.
//!
//! A list holds fewer than two batches; when it would reach two, one batch moves to the shared lists. While a thread terminates, its lists
//! are gone and every call uses the shared ones.

use super::class::{BATCH, CAPACITY, CLASSES};
use super::header::Header;
use super::{budget, counters, shared};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

struct Local {
    lists: [List; CLASSES],
    /// The bytes taken minus the bytes returned that were not yet reported to the global statistics.
    unreported: Cell<isize>,
}

/// `count` free blocks linked by `next`.
struct List {
    head: Cell<*mut Header>,
    count: Cell<usize>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            lists: [const { List { head: Cell::new(null_mut()), count: Cell::new(0) } }; CLASSES],
            unreported: Cell::new(0),
        }
    };
}

/// Small changes accumulate in the thread until they reach this many bytes.
const REPORT: isize = 64 * 1024;

/// Takes a free block of `class` off its list.
#[inline]
pub(super) fn take(class: usize) -> NonNull<Header> {
    LOCAL.try_with(|local| local.take(class)).unwrap_or_else(|_| take_shared(class))
}

#[cold]
#[inline(never)]
fn take_shared(class: usize) -> NonNull<Header> {
    counters::add_small(CAPACITY[class] as isize);
    shared::take(class, 1).0
}

/// Takes back a block of `class`.
///
/// # Safety
/// The block is of `class`, nothing refers to it, and it is on no list.
#[inline]
pub(super) unsafe fn give(header: NonNull<Header>, class: usize) {
    let kept = LOCAL.try_with(|local| {
        // SAFETY: it requires what our caller guarantees, for the same block and class.
        unsafe { local.give(header, class) }
    });
    if kept.is_err() {
        // SAFETY: it requires what our caller guarantees; the closure was not called, so the block is on no list.
        unsafe { give_shared(header, class) };
    }
}

/// # Safety
/// As for [`give`].
#[cold]
#[inline(never)]
unsafe fn give_shared(header: NonNull<Header>, class: usize) {
    counters::add_small(-(CAPACITY[class] as isize));
    // SAFETY: a chain of one block, which is of `class` and on no list, as the caller guarantees.
    unsafe { shared::give(class, header, header) };
}

/// Reports all changes of this thread to the statistics.
pub(super) fn report() {
    let _ = LOCAL.try_with(Local::report);
}

impl Local {
    #[inline]
    fn take(&self, class: usize) -> NonNull<Header> {
        self.count_bytes(CAPACITY[class] as isize);
        let list = &self.lists[class];
        let Some(header) = NonNull::new(list.head.get()) else {
            return self.refill(class);
        };
        // SAFETY: blocks on this thread's list are live headers that only this thread accesses.
        list.head.set(unsafe { (*header.as_ptr()).link.next });
        list.count.set(list.count.get() - 1);
        header
    }

    /// # Safety
    /// As for the free function `give`.
    #[inline]
    unsafe fn give(&self, header: NonNull<Header>, class: usize) {
        self.count_bytes(-(CAPACITY[class] as isize));
        let list = &self.lists[class];
        // SAFETY: the caller guarantees that there is no reference to this block, so its header is ours to write.
        unsafe { (*header.as_ptr()).link.next = list.head.get() };
        list.head.set(header.as_ptr());
        let count = list.count.get() + 1;
        list.count.set(count);
        if count >= 2 * BATCH[class] {
            self.spill(class, BATCH[class]);
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&self, class: usize) -> NonNull<Header> {
        let (first, count) = shared::take(class, BATCH[class]);
        let list = &self.lists[class];
        // SAFETY: the chain is ours; its first block is returned, the rest becomes the list.
        list.head.set(unsafe { (*first.as_ptr()).link.next });
        list.count.set(count - 1);
        first
    }

    /// Moves the newest `count` blocks of the list to the shared one; the list has at least that many.
    #[cold]
    #[inline(never)]
    fn spill(&self, class: usize, count: usize) {
        let list = &self.lists[class];
        let Some(first) = NonNull::new(list.head.get()) else {
            return;
        };
        let mut last = first;
        // SAFETY: the list holds at least `count` live blocks that only this thread accesses.
        unsafe {
            for _ in 1..count {
                last = NonNull::new_unchecked((*last.as_ptr()).link.next);
            }
            list.head.set((*last.as_ptr()).link.next);
            list.count.set(list.count.get() - count);
            shared::give(class, first, last);
        }
    }

    #[inline]
    fn count_bytes(&self, change: isize) {
        let total = self.unreported.get() + change;
        if total.unsigned_abs() >= REPORT as usize {
            return self.report_with(change);
        }
        self.unreported.set(total);
    }

    /// Reports all changes and one more.
    #[cold]
    #[inline(never)]
    fn report_with(&self, change: isize) {
        if change > 0 {
            // It may give blocks back to these lists.
            budget::request((self.unreported.get() + change).max(0) as usize);
        }
        self.unreported.set(self.unreported.get() + change);
        self.report();
    }

    #[cold]
    #[inline(never)]
    fn report(&self) {
        counters::add_small(self.unreported.take());
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.report();
        for class in 0..CLASSES {
            self.spill(class, self.lists[class].count.get());
        }
    }
}
