//! Sets of positions.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{LazyLock, PoisonError, RwLock};

/// A set of operand or output positions.
///
/// It is a single word. Positions below 63 are its bits. A set with larger positions is the index of an interned list: only calls with that
/// many operands or outputs have one, so there are few of them in a process.
///
/// ```
/// use wengert::primitive::Mask;
/// const ENDS: Mask = Mask::only(0).with(2);
/// assert_eq!(ENDS, Mask::of(3, |position| position != 1));
/// let even: Mask = (0..200).step_by(2).collect();
/// assert!(even.has(198) && !even.has(199) && even.before(100) == 50);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mask(u64);

/// Marks the index of a list.
const LISTED: u64 = 1 << FEW;

/// The number of positions stored as bits of the word.
const FEW: usize = 63;

/// Every set that does not fit a word, once: words of 64 positions, the last of which is not empty.
#[derive(Default)]
struct Lists {
    lists: Vec<&'static [u64]>,
    numbers: FxHashMap<&'static [u64], usize>,
}

static LISTS: LazyLock<RwLock<Lists>> = LazyLock::new(RwLock::default);

#[cold]
fn listed(number: u64) -> &'static [u64] {
    LISTS.read().unwrap_or_else(PoisonError::into_inner).lists[number as usize]
}

type Words = SmallVec<[u64; 8]>;

#[cold]
fn from_words(words: &[u64]) -> Mask {
    let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    let words = &words[..used];
    match *words {
        [] => return Mask::NONE,
        [word] if word & LISTED == 0 => return Mask(word),
        _ => {}
    }
    let known = LISTS.read().unwrap_or_else(PoisonError::into_inner).numbers.get(words).copied();
    if let Some(number) = known {
        return Mask(LISTED | number as u64);
    }
    let mut lists = LISTS.write().unwrap_or_else(PoisonError::into_inner);
    let number = match lists.numbers.get(words) {
        Some(number) => *number,
        None => {
            let list: &'static [u64] = Box::leak(Box::from(words));
            lists.lists.push(list);
            let number = lists.lists.len() - 1;
            lists.numbers.insert(list, number);
            number
        }
    };
    Mask(LISTED | number as u64)
}

impl Mask {
    /// No position.
    pub const NONE: Mask = Mask(0);

    /// The positions for which `f` holds.
    #[inline(always)]
    pub fn of(count: usize, mut f: impl FnMut(usize) -> bool) -> Mask {
        if count > FEW {
            return (0..count).filter(|&position| f(position)).collect();
        }
        let mut bits = 0;
        for position in 0..count {
            bits |= u64::from(f(position)) << position;
        }
        Mask(bits)
    }

    /// All positions below `count`.
    #[inline]
    pub fn first_of(count: usize) -> Mask {
        Mask::of(count, |_| true)
    }

    /// Only `position`, which must be below 63; for larger ones, collect an iterator.
    pub const fn only(position: usize) -> Mask {
        Mask::NONE.with(position)
    }

    /// Adds `position`, if all are below 63; for larger ones, collect an iterator.
    #[inline]
    pub const fn with(self, position: usize) -> Mask {
        assert!(position < FEW && self.0 & LISTED == 0, "positions from 63 on are collected, or given by `Mask::of`");
        Mask(self.0 | 1 << position)
    }

    /// Its bits, or its list.
    #[inline]
    fn words(self) -> Result<u64, &'static [u64]> {
        if self.0 & LISTED == 0 { Ok(self.0) } else { Err(listed(self.0 & !LISTED)) }
    }

    /// Whether `position` is in it.
    #[inline]
    pub fn has(self, position: usize) -> bool {
        match self.words() {
            Ok(bits) => position < FEW && bits >> position & 1 == 1,
            Err(words) => words.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1),
        }
    }

    /// Removes `position`.
    #[inline]
    pub fn without(self, position: usize) -> Mask {
        match self.words() {
            Ok(bits) => Mask(bits & !(1 << position.min(FEW))),
            Err(_) => self.iter().filter(|other| *other != position).collect(),
        }
    }

    /// The lowest position.
    #[inline]
    pub fn first(self) -> Option<usize> {
        self.iter().next()
    }

    /// The union of both.
    #[inline]
    pub fn or(self, other: Mask) -> Mask {
        match (self.0 | other.0) & LISTED {
            0 => Mask(self.0 | other.0),
            _ => self.iter().chain(other.iter()).collect(),
        }
    }

    /// Whether it is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of positions.
    #[inline]
    pub fn count(self) -> usize {
        match self.words() {
            Ok(bits) => bits.count_ones() as usize,
            Err(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// The positions, in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let (mut rest, mut more) = match self.words() {
            Ok(bits) => (bits, &[][..]),
            Err(words) => (words[0], &words[1..]),
        };
        let mut before = 0;
        std::iter::from_fn(move || {
            while rest == 0 {
                let (next, later) = more.split_first()?;
                (rest, more, before) = (*next, later, before + 64);
            }
            let position = before + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(position)
        })
    }

    /// The number of positions before `position`.
    #[inline]
    pub fn before(self, position: usize) -> usize {
        match self.words() {
            Ok(bits) => (bits & ((1 << position.min(FEW)) - 1)).count_ones() as usize,
            Err(words) => {
                let whole = (position / 64).min(words.len());
                let part = words.get(whole).map_or(0, |word| word & ((1 << (position % 64)) - 1));
                words[..whole].iter().map(|word| word.count_ones() as usize).sum::<usize>() + part.count_ones() as usize
            }
        }
    }
}

impl FromIterator<usize> for Mask {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Mask {
        let mut words = Words::new();
        for position in positions {
            if words.len() <= position / 64 {
                words.resize(position / 64 + 1, 0);
            }
            words[position / 64] |= 1 << (position % 64);
        }
        from_words(&words)
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
