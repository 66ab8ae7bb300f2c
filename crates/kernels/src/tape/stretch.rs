//! Recordings and parts of recordings, each with a number of its own, and the places of their statements.

use super::{CHUNKS, Misuse, Tape};
use std::sync::atomic::{AtomicU32, Ordering};

/// A statement of a recording or of a part of one, or none.
///
/// ```
/// use wengert_kernels::tape::Place;
/// assert!(!Place::NONE.is_active());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// The number of the stretch, then that of the statement: one subtraction compares both.
    bits: u64,
}

impl Place {
    /// That of a constant.
    pub const NONE: Place = Place { bits: 0 };

    /// Whether it names a statement.
    #[inline(always)]
    pub fn is_active(self) -> bool {
        self.bits != 0
    }

    /// The number of the statement.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.bits as u32
    }

    pub(super) fn stretch(self) -> Stretch {
        Stretch(self.bits - u64::from(self.index()))
    }
}

/// A recording, or a part of one, with a number that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stretch(u64);

impl Stretch {
    pub(super) const NONE: Stretch = Stretch(0);

    pub(super) fn numbered(number: u32) -> Stretch {
        Stretch(u64::from(number) << u32::BITS)
    }

    #[inline(always)]
    pub(super) fn place(self, index: u32) -> Place {
        Place { bits: self.0 | u64::from(index) }
    }

    /// Whether a place is one of it, and before statement `next`; no constant is. The statement is compared too because numbers of
    /// stretches may come again one day: what is swept lies in bounds even then.
    #[inline(always)]
    pub(super) fn has(self, place: Place, next: u32) -> bool {
        place.bits.wrapping_sub(self.0) < u64::from(next)
    }
}

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
        CHUNKS.with_borrow(|chunks| {
            let (outer, own) = chunks.stretches.split_at(self.outer.get());
            match is_before && own.contains(&stretch) {
                true => None,
                false => Some(if outer.contains(&stretch) { Misuse::Outer } else { Misuse::Ended }),
            }
        })
    }
}
