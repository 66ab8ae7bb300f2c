//! The reverse sweep: adjoints of statements, from the last to the first.

use super::chunk::Chunk;
use super::{CHUNKS, OnMisuse, Place, Position, Stop, Tape, WIDE};
use crate::simd::{Level, level};

/// The adjoint of a statement: one number, or several that are swept at once.
pub trait Adjoint: Copy {
    /// Nothing yet.
    const ZERO: Self;

    /// Whether the adjoint is zero, so that nothing needs to be propagated.
    fn is_zero(&self) -> bool;

    /// Whether the adjoint is nonzero and finite, so that 0 times it is 0.
    fn is_plain(&self) -> bool;

    /// Its components.
    fn lanes(&self) -> &[f64];

    /// Its components, for writing.
    fn lanes_mut(&mut self) -> &mut [f64];

    /// Adds `partial` times another adjoint, with a single rounding if `FUSED`: for machines with a fused multiply-add instruction.
    fn add_scaled<const FUSED: bool>(&mut self, partial: f64, other: &Self);

    /// The same, but a zero adjoint contributes zero for any partial derivative, and a zero partial derivative stops an infinite adjoint.
    #[cold]
    fn add_stopped(&mut self, partial: f64, other: &Self) {
        let passes = |other: f64| other != 0.0 && (partial != 0.0 || other.is_nan());
        let lanes = self.lanes_mut().iter_mut().zip(other.lanes());
        lanes.filter(|(_, other)| passes(**other)).for_each(|(own, other)| *own += partial * other);
    }
}

impl Adjoint for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn is_zero(&self) -> bool {
        *self == 0.0
    }

    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn is_plain(&self) -> bool {
        // One comparison: the difference is 0 for finite values and NaN otherwise.
        self - self < self.abs()
    }

    fn lanes(&self) -> &[f64] {
        std::slice::from_ref(self)
    }

    fn lanes_mut(&mut self) -> &mut [f64] {
        std::slice::from_mut(self)
    }

    #[inline(always)]
    fn add_scaled<const FUSED: bool>(&mut self, partial: f64, other: &f64) {
        *self = if FUSED { partial.mul_add(*other, *self) } else { *self + partial * other };
    }
}

impl<const N: usize> Adjoint for [f64; N] {
    const ZERO: [f64; N] = [0.0; N];

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.iter().all(|number| *number == 0.0)
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.iter().all(|number| number.is_finite()) && !self.is_zero()
    }

    fn lanes(&self) -> &[f64] {
        self
    }

    fn lanes_mut(&mut self) -> &mut [f64] {
        self
    }

    #[inline(always)]
    fn add_scaled<const FUSED: bool>(&mut self, partial: f64, other: &[f64; N]) {
        match partial.is_finite() {
            true => self.iter_mut().zip(other).for_each(|(own, other)| own.add_scaled::<FUSED>(partial, other)),
            // Some components may be zero, though not all are.
            false => self.add_stopped(partial, other),
        }
    }
}

/// The adjoints of a recording. A sweep zeroes the adjoints that it has propagated, so the memory can be reused by the next one.
#[derive(Debug)]
pub struct Adjoints<A> {
    pub(super) values: Vec<A>,
}

impl<A> Default for Adjoints<A> {
    fn default() -> Adjoints<A> {
        Adjoints { values: Vec::new() }
    }
}

impl<A: Adjoint> Adjoints<A> {
    #[track_caller]
    pub(super) fn at(&mut self, place: Place, stop: OnMisuse) -> Option<&mut A> {
        if !place.is_active() {
            return None;
        }
        let stop = Stop::here(stop);
        Tape::here().expect(place, stop);
        let index = place.index() as usize;
        if self.values.len() <= index {
            self.values.resize(index + 1, A::ZERO);
        }
        Some(&mut self.values[index])
    }

    /// Adds to the adjoint of a place; constants have none.
    #[track_caller]
    pub fn add(&mut self, place: Place, seed: &A, stop: OnMisuse) {
        if let Some(adjoint) = self.at(place, stop) {
            adjoint.add_scaled::<false>(1.0, seed);
        }
    }

    /// Zeroes the adjoints of all statements recorded since a position.
    pub fn clear_from(&mut self, position: Position) {
        let behind = self.values.len().min(Tape::here().next.get() as usize);
        self.values[(position.next as usize).min(behind)..behind].fill(A::ZERO);
    }

    /// Propagates the adjoints of all statements since `down_to` to their arguments; statements without arguments keep theirs.
    pub fn sweep(&mut self, down_to: Position) {
        let tape = Tape::here();
        let mut cursor = Cursor { chunk: tape.chunks.get(), next: tape.next.get(), argument: tape.argument.get() };
        let values = &mut self.values;
        if values.len() < cursor.next as usize {
            values.resize(cursor.next as usize, A::ZERO);
        }
        for number in (0..tape.externals.get()).rev() {
            let external = CHUNKS.with_borrow(|chunks| chunks.externals[number].clone());
            if external.first < down_to.next {
                break;
            }
            cursor.descend(values, external.behind);
            // The tape is not borrowed here: an external function may record, and may panic.
            external.pull(values);
        }
        let (first, behind) = tape.inputs.get();
        // Inputs propagate nothing: if the range ends with them, they are skipped.
        cursor.descend(values, if first == down_to.next { behind } else { down_to.next });
    }

    /// Reads the adjoint of a place and resets it to zero.
    #[track_caller]
    pub fn take(&mut self, place: Place, stop: OnMisuse) -> A {
        self.at(place, stop).map_or(A::ZERO, |adjoint| std::mem::replace(adjoint, A::ZERO))
    }

    /// The adjoint of a place.
    #[track_caller]
    pub fn of(&mut self, place: Place, stop: OnMisuse) -> A {
        self.at(place, stop).map_or(A::ZERO, |adjoint| *adjoint)
    }
}

/// The progress of a sweep.
struct Cursor {
    /// The number of chunks left, including the current one.
    chunk: usize,
    /// The number after the next statement to sweep, and the number of arguments in the chunk before that point.
    next: u32,
    argument: usize,
}

impl Cursor {
    /// Sweeps all statements from `down_to` on. There must be an adjoint for every statement before the cursor.
    fn descend<A: Adjoint>(&mut self, adjoints: &mut [A], down_to: u32) {
        assert!(self.next as usize <= adjoints.len(), "an adjoint for every statement");
        CHUNKS.with_borrow_mut(|chunks| {
            while self.next > down_to && self.chunk > 0 {
                let chunk = &mut chunks.used[self.chunk - 1];
                // SAFETY: a cursor begins at the end of the tape, and moves to the end of the previous chunk after it has swept one. So
                // this chunk holds the statements from `chunk.first` to `self.next`, with `self.argument` arguments. Every push compares
                // its arguments with its own number (`Stretch::has`, `Tape::expect`), so they are before it, and `self.next` adjoints were
                // asserted.
                self.argument = unsafe { sweep_chunk(chunk, (self.next, self.argument), down_to, adjoints) };
                self.next = chunk.first.max(down_to);
                if self.next == chunk.first {
                    self.chunk -= 1;
                    self.argument = self.chunk.checked_sub(1).map_or(0, |before| chunks.used[before].used);
                }
            }
        });
    }
}

/// # Safety
/// The chunk holds the statements before `next`, with `argument` arguments in total, each of which is before its statement; there is an
/// adjoint for each. Returns the number of arguments before the last statement that was swept.
unsafe fn sweep_chunk<A: Adjoint>(chunk: &mut Chunk, end: (u32, usize), down_to: u32, adjoints: &mut [A]) -> usize {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn fused<A: Adjoint>(chunk: &mut Chunk, end: (u32, usize), down_to: u32, adjoints: &mut [A]) -> usize {
        // SAFETY: it requires what the caller of `sweep_chunk` guarantees.
        unsafe { statements::<A, true>(chunk, end, down_to, adjoints) }
    }
    // SAFETY: both require what our caller guarantees; `level` reports Avx2 and Avx512 only after detecting AVX2 and FMA.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => fused(chunk, end, down_to, adjoints),
            _ => statements::<A, false>(chunk, end, down_to, adjoints),
        }
    }
}

/// Propagates an adjoint that is not finite.
///
/// # Safety
/// Arguments and partial derivatives are valid in this range, adjoints at every argument in it.
#[cold]
#[inline(never)]
unsafe fn pass_stopped<A: Adjoint>(
    (adjoints, arguments, partials): (*mut A, *const u32, *const f64),
    range: std::ops::Range<usize>,
    adjoint: &A,
) {
    for k in range {
        // SAFETY: `k` is in the range, so argument `k`, its partial derivative and its adjoint are valid; `adjoint` is not one of them.
        unsafe { (*adjoints.add(*arguments.add(k) as usize)).add_stopped(*partials.add(k), adjoint) };
    }
}

/// # Safety
/// As [`sweep_chunk`].
#[inline(always)]
unsafe fn statements<A: Adjoint, const FUSED: bool>(
    chunk: &mut Chunk,
    (next, argument): (u32, usize),
    down_to: u32,
    adjoints: &mut [A],
) -> usize {
    let (partials, arguments, counts) = chunk.pointers();
    let counts = counts.wrapping_sub(chunk.first as usize);
    let first = chunk.first.max(down_to);
    let listed = chunk.widths.partition_point(|(index, _)| *index < next);
    let mut widths = chunk.widths[..listed].iter().rev();
    let mut at = argument;
    let adjoints = adjoints.as_mut_ptr();
    for index in (first..next).rev() {
        // SAFETY: statements `first..next` are in the chunk, so the counts and adjoints of all are valid. Going down from `argument`, `at`
        // is reduced by the count that was written with each statement, or listed for it, so its arguments are `at..at + count`. They are
        // smaller than `index`: their adjoints are valid, and none is `own`.
        unsafe {
            let count = *counts.wrapping_add(index as usize);
            let own = adjoints.add(index as usize);
            let pass = |k: usize, adjoint: &A| {
                let to = adjoints.add(*arguments.add(k) as usize);
                (*to).add_scaled::<FUSED>(*partials.add(k), adjoint);
            };
            let stop = |from: usize, to: usize| {
                let adjoint = std::mem::replace(&mut *own, A::ZERO);
                pass_stopped((adjoints, arguments, partials), from..to, &adjoint);
            };
            match count {
                2 => {
                    at -= 2;
                    let adjoint = *own;
                    if adjoint.is_plain() {
                        *own = A::ZERO;
                        pass(at, &adjoint);
                        pass(at + 1, &adjoint);
                    } else if !adjoint.is_zero() {
                        stop(at, at + 2);
                    }
                }
                1 => {
                    at -= 1;
                    let adjoint = *own;
                    if adjoint.is_plain() {
                        *own = A::ZERO;
                        pass(at, &adjoint);
                    } else if !adjoint.is_zero() {
                        stop(at, at + 1);
                    }
                }
                0 => {}
                _ => {
                    let mut listed = || widths.next().map_or(0, |(_, count)| *count);
                    let count = if count < WIDE { usize::from(count) } else { listed() };
                    at -= count;
                    let adjoint = *own;
                    if adjoint.is_plain() {
                        *own = A::ZERO;
                        (at..at + count).for_each(|k| pass(k, &adjoint));
                    } else if !adjoint.is_zero() {
                        stop(at, at + count);
                    }
                }
            }
        }
    }
    at
}
