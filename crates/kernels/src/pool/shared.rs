//! The lists shared by all threads, and the chunks from which small blocks are cut.
//!
//! Used once per batch, so one mutex is enough.

use super::class::{CAPACITY, CLASSES};
use super::header::{HEADER, Header, Link};
use super::limit::OutOfMemory;
use super::system::{self, HUGE_PAGE};
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard};

struct Shared {
    /// Free blocks of each class, linked by `next`.
    heads: [*mut Header; CLASSES],
    /// The uncut rest of the newest chunk.
    cursor: *mut u8,
    room: usize,
    /// Data bytes of all blocks ever cut.
    cut_bytes: usize,
}

// SAFETY: the lists own the pointers: there is no other reference to a free block.
unsafe impl Send for Shared {}

static SHARED: Mutex<Shared> =
    Mutex::new(Shared { heads: [null_mut(); CLASSES], cursor: null_mut(), room: 0, cut_bytes: 0 });

/// The lists stay consistent if an out-of-memory panic occurs, so poisoning is ignored.
fn lock() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A chain of between one and `wanted` blocks of `class`, and its length.
pub(super) fn take(class: usize, wanted: usize) -> (NonNull<Header>, usize) {
    let mut shared = lock();
    let Some(first) = NonNull::new(shared.heads[class]) else {
        return shared.cut(class, wanted);
    };
    let mut last = first;
    let mut count = 1;
    // SAFETY: blocks on the list are live headers linked by `next`, ending in null, and ours while locked.
    unsafe {
        while count < wanted
            && let Some(next) = NonNull::new((*last.as_ptr()).link.next)
        {
            last = next;
            count += 1;
        }
        shared.heads[class] = (*last.as_ptr()).link.next;
        (*last.as_ptr()).link.next = null_mut();
    }
    (first, count)
}

/// Puts the chain from `first` to `last` on the list of `class`.
///
/// # Safety
/// The chain consists of free blocks of `class`, linked by `next`, on no other list.
pub(super) unsafe fn give(class: usize, first: NonNull<Header>, last: NonNull<Header>) {
    let mut shared = lock();
    // SAFETY: `last` is a live header that the caller transfers.
    unsafe { (*last.as_ptr()).link.next = shared.heads[class] };
    shared.heads[class] = first.as_ptr();
}

/// Data bytes of all small blocks, free or not.
pub(super) fn cut_bytes() -> usize {
    lock().cut_bytes
}

impl Shared {
    /// Cuts up to `wanted` blocks off the chunk, or off a fresh chunk if not even one fits.
    fn cut(&mut self, class: usize, wanted: usize) -> (NonNull<Header>, usize) {
        let capacity = CAPACITY[class];
        let step = HEADER + capacity;
        if self.room < step {
            let chunk = system::chunk().unwrap_or_else(|| OutOfMemory::of(HUGE_PAGE).raise());
            (self.cursor, self.room) = (chunk.as_ptr(), HUGE_PAGE);
        }
        let count = wanted.min(self.room / step);
        let mut first = null_mut();
        for index in (0..count).rev() {
            // SAFETY: the `count * step <= room` bytes from the cursor on are zeroed, uncut, and aligned to 64.
            unsafe {
                let header = self.cursor.add(index * step).cast::<Header>();
                header.write(Header { link: Link { next: first }, ..Header::new(capacity, class as u32) });
                first = header;
            }
        }
        // SAFETY: stays within the chunk or one past its end.
        self.cursor = unsafe { self.cursor.add(count * step) };
        self.room -= count * step;
        self.cut_bytes += count * capacity;
        (NonNull::new(first).expect("a chunk holds at least one block"), count)
    }
}
