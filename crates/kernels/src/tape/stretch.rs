//! Recordings and parts of recordings, each with its own number, and the places of their statements.

use super::place::Stretch;
use super::{CHUNKS, Misuse, Place, Tape};
use std::sync::atomic::{AtomicU32, Ordering};

/// The recordings and parts of the process are numbered in blocks, which threads reserve one at a time. Numbers are unique until all are
/// used up.
static BLOCKS: AtomicU32 = AtomicU32::new(0);
const BLOCK: u32 = 1 << 10;

/// The error for a place that cannot be read here.
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
    /// A new stretch with a unique number.
    pub(super) fn new_stretch(&self) -> Stretch {
        let (mut next, mut end) = self.numbers.get();
        if next == end {
            let block = BLOCKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(BLOCK);
            // Number 0 is reserved.
            (next, end) = (block.max(1), block.wrapping_add(BLOCK));
        }
        self.numbers.set((next.wrapping_add(1), end));
        Stretch::numbered(next)
    }

    /// Lists a stretch whose places can be read although it is neither the running one nor the enclosing one.
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

    /// Whether a place belongs to the running part or the enclosing one; no constant does.
    #[inline(always)]
    pub(super) fn is_own(&self, place: Place, next: u32) -> bool {
        self.stretch.get().has(place, next) | self.around.get().has(place, next)
    }

    /// The error for a stretch, unless it is this recording or a part of it that was not discarded.
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
