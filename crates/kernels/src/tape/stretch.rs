//! Recordings and parts of recordings, each with a number of its own, and the places of their statements.

use super::place::Stretch;
use super::{CHUNKS, Misuse, Place, Tape};
use std::sync::atomic::{AtomicU32, Ordering};

/// Recordings and parts of the process are numbered in blocks, one for each thread at a time; none has the number of another, until
/// they are used up.
static BLOCKS: AtomicU32 = AtomicU32::new(0);
const BLOCK: u32 = 1 << 10;

/// What is wrong with a place, if it cannot be read here.
///
/// ```
/// use wengert_kernels::tape::{Misuse, misuse, record};
/// let place = record(|recording| {
///     let place = recording.input(|misuse, _| panic!("{misuse}"));
///     assert_eq!(misuse(place), None);
///     place
/// });
/// assert_eq!(misuse(place), Some(Misuse::Ended));
/// ```
pub fn misuse(place: Place) -> Option<Misuse> {
    let tape = Tape::here();
    place.is_active().then(|| tape.misuse(place.stretch(), place.index() < tape.next.get()))?
}

impl Tape {
    /// One that is no other recording or part.
    pub(super) fn new_stretch(&self) -> Stretch {
        let (mut next, mut end) = self.numbers.get();
        if next == end {
            let block = BLOCKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(BLOCK);
            // None has number 0.
            (next, end) = (block.max(1), block.wrapping_add(BLOCK));
        }
        self.numbers.set((next.wrapping_add(1), end));
        Stretch::numbered(next)
    }

    /// Keeps the number of a stretch whose places can be read, though it is neither the one that runs nor the one around.
    #[cold]
    pub(super) fn list_stretch(&self, stretch: Stretch) {
        CHUNKS.with_borrow_mut(|chunks| chunks.stretches.push(stretch));
        self.stretches.set(self.stretches.get() + 1);
    }

    #[cold]
    pub(super) fn unlist_stretch(&self, number: usize) {
        CHUNKS.with_borrow_mut(|chunks| chunks.stretches.remove(number));
        self.stretches.set(self.stretches.get() - 1);
    }

    /// Whether a place is of the part that runs or what is around it; no constant is.
    #[inline(always)]
    pub(super) fn is_own(&self, place: Place, next: u32) -> bool {
        self.stretch.get().has(place, next) | self.around.get().has(place, next)
    }

    /// What is wrong with a stretch, unless it is this recording, or a part of it that was not forgotten.
    pub(super) fn misuse(&self, stretch: Stretch, is_before: bool) -> Option<Misuse> {
        if is_before && (stretch == self.stretch.get() || stretch == self.around.get()) {
            return None;
        }
        let found = CHUNKS.try_with(|chunks| {
            let chunks = chunks.borrow();
            let (outer, own) = chunks.stretches.split_at(self.outer.get());
            match is_before && own.contains(&stretch) {
                true => None,
                false => Some(if outer.contains(&stretch) { Misuse::Outer } else { Misuse::Ended }),
            }
        });
        found.unwrap_or(Some(Misuse::Destroyed))
    }
}
