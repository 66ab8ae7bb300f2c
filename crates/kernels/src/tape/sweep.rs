//! The reverse sweep: adjoints of statements, from the last to the first.

use super::adjoint::{Adjoint, Flat, Room};
use super::chunk::Chunk;
use super::limit::{Failure, Owner, Paged};
use super::{CHUNKS, OnMisuse, Place, Position, Stop, Tape, WIDE};
use crate::simd::{Level, level};
use std::panic::Location;

/// The adjoints of a recording. A sweep zeroes the adjoints that it has propagated, so the memory can be reused by the next one.
#[derive(Debug)]
pub struct Adjoints<A> {
    pub(super) values: Vec<A>,
    /// Where they are instead under a [limit](super::Limit).
    pub(super) owner: Owner,
}

impl<A> Default for Adjoints<A> {
    fn default() -> Adjoints<A> {
        Adjoints { values: Vec::new(), owner: Owner::default() }
    }
}

impl<A: Adjoint> Adjoints<A> {
    /// Calls `f` with the adjoint of a place; constants have none.
    #[inline]
    #[track_caller]
    fn at<R>(&mut self, place: Place, stop: OnMisuse, f: impl FnOnce(&mut A) -> R) -> Option<R> {
        if !place.is_active() {
            return None;
        }
        let stop = Stop::here(stop);
        Tape::here().expect(place, stop);
        self.extend(place.index() + 1);
        Some(self.edit(place.index(), stop, f))
    }

    /// Makes room for the adjoints of all statements before `next`.
    #[inline(always)]
    pub(super) fn extend(&mut self, next: u32) {
        if self.values.len() < next as usize || Tape::here().limits.get() > 0 {
            self.extend_further(next);
        }
    }

    #[cold]
    #[inline(never)]
    fn extend_further(&mut self, next: u32) {
        let tape = Tape::here();
        if tape.limits.get() > 0 {
            // A failure is reported where adjoints are read.
            let _ = tape.with_pages(&mut self.owner, |pages, owner| pages.extend::<A>(owner, next));
        } else {
            self.values.resize(next as usize, A::ZERO);
        }
    }

    /// Calls `f` with the adjoint of a statement, for which there is [room](Adjoints::extend).
    #[inline(always)]
    pub(super) fn edit<R>(&mut self, index: u32, stop: Stop, f: impl FnOnce(&mut A) -> R) -> R {
        match Tape::here().limits.get() {
            0 => f(&mut self.values[index as usize]),
            _ => self.edit_page(index, stop, f),
        }
    }

    #[inline(never)]
    fn edit_page<R>(&mut self, index: u32, stop: Stop, f: impl FnOnce(&mut A) -> R) -> R {
        let edited = Tape::here().with_pages(&mut self.owner, |pages, owner| f(pages.at(owner, index)));
        edited.unwrap_or_else(|failure| stop.with(failure.into()))
    }

    /// Zeroes the adjoints of statements from `first` on, those from `behind` on excepted.
    pub(super) fn zero(&mut self, (first, behind): (u32, u32)) {
        let tape = Tape::here();
        if tape.limits.get() > 0 {
            let _ = tape.with_pages(&mut self.owner, |pages, owner| pages.clear::<A>(owner, (first, behind)));
            return;
        }
        let behind = self.values.len().min(behind as usize);
        self.values[(first as usize).min(behind)..behind].fill(A::ZERO);
    }

    /// Adds to the adjoint of a place; constants have none.
    #[track_caller]
    pub fn add(&mut self, place: Place, seed: &A, stop: OnMisuse) {
        self.at(place, stop, |adjoint| adjoint.add_scaled::<false>(1.0, seed));
    }

    /// Zeroes the adjoints of all statements recorded since a position.
    pub fn clear_from(&mut self, position: Position) {
        self.zero((position.next, Tape::here().next.get()));
    }

    /// Propagates the adjoints of all statements since `down_to` to their arguments; statements without arguments keep theirs.
    #[track_caller]
    pub fn sweep(&mut self, down_to: Position, stop: OnMisuse) {
        self.sweep_at(down_to, stop, Location::caller());
    }

    /// [`sweep`](Adjoints::sweep), in the name of a caller.
    pub fn sweep_at(&mut self, down_to: Position, stop: OnMisuse, line: &'static Location<'static>) {
        let (tape, stop) = (Tape::here(), Stop::at(stop, line));
        let next = tape.next.get();
        let (first, behind) = tape.inputs.get();
        // Inputs propagate nothing: if the range ends with them, they are skipped.
        let range = (if first == down_to.next { behind } else { down_to.next }, next);
        let mut cursor = Cursor { chunk: tape.chunks.get(), next, argument: tape.argument.get(), range, stop };
        self.extend(next);
        for number in (0..tape.externals.get()).rev() {
            let external = CHUNKS.with_borrow(|chunks| chunks.externals[number].clone());
            if external.first < down_to.next {
                break;
            }
            cursor.descend(self, external.behind);
            // The tape is not borrowed here: an external function may record, and may panic.
            external.pull(self, stop);
        }
        cursor.descend(self, range.0);
    }

    /// Reads the adjoint of a place and resets it to zero.
    #[track_caller]
    pub fn take(&mut self, place: Place, stop: OnMisuse) -> A {
        self.at(place, stop, |adjoint| std::mem::replace(adjoint, A::ZERO)).unwrap_or(A::ZERO)
    }

    /// The adjoint of a place.
    #[track_caller]
    pub fn of(&mut self, place: Place, stop: OnMisuse) -> A {
        self.at(place, stop, |adjoint| *adjoint).unwrap_or(A::ZERO)
    }
}

/// The progress of a sweep.
struct Cursor {
    /// The number of chunks left, including the current one.
    chunk: usize,
    /// The number after the next statement to sweep, and the number of arguments in the chunk before that point.
    next: u32,
    argument: usize,
    /// The statements of the whole sweep, and how to report that a chunk cannot be read.
    range: (u32, u32),
    stop: Stop,
}

impl Cursor {
    /// Sweeps all statements from `down_to` on. There must be room for the adjoint of every statement before the cursor.
    fn descend<A: Adjoint>(&mut self, adjoints: &mut Adjoints<A>, down_to: u32) {
        // Nothing to sweep: the chunks of a thread that ends may be gone.
        if self.next <= down_to || self.chunk == 0 {
            return;
        }
        let tape = Tape::here();
        if tape.limits.get() > 0 {
            while self.next > down_to && self.chunk > 0 {
                let swept = self.descend_chunk_within(tape, adjoints, down_to);
                swept.unwrap_or_else(|failure| self.stop.with(failure.into()));
                tape.tell_swept((self.range.1 - self.next) as usize, (self.range.1 - self.range.0) as usize);
            }
            return;
        }
        assert!(self.next as usize <= adjoints.values.len(), "an adjoint for every statement");
        CHUNKS.with_borrow_mut(|chunks| {
            while self.next > down_to && self.chunk > 0 {
                let room = Flat { adjoints: adjoints.values.as_mut_ptr() };
                // SAFETY: a cursor begins at the end of the tape, and moves to the end of the previous chunk after it has swept one. So
                // this chunk holds the statements from `chunk.first` to `self.next`, with `self.argument` arguments. Every push compares
                // its arguments with its own number (`Stretch::has`, `Tape::expect`), so they are before it, and `self.next` adjoints were
                // asserted.
                self.argument =
                    unsafe { sweep_chunk(&chunks.used[self.chunk - 1], (self.next, self.argument), down_to, room) };
                self.leave(&chunks.used, down_to);
            }
        });
    }

    /// Sweeps the statements of a chunk under a limit.
    #[inline(never)]
    fn descend_chunk_within<A: Adjoint>(
        &mut self,
        tape: &Tape,
        adjoints: &mut Adjoints<A>,
        down_to: u32,
    ) -> Result<(), Failure> {
        CHUNKS.with_borrow_mut(|chunks| {
            let (end, chunk) = ((self.next, self.argument), tape.load(chunks, self.chunk - 1)?);
            self.argument = tape.with_pages(&mut adjoints.owner, |pages, owner| {
                // SAFETY: as above; a chunk that was read from a file is the one that was written, as its checksum says. Adjoints are
                // looked up with a check of the bounds.
                unsafe { sweep_chunk::<A, _>(chunk, end, down_to, Paged { pages, owner }) }
            })?;
            self.leave(&chunks.used, down_to);
            Ok(())
        })
    }

    /// Moves on after the statements of a chunk.
    #[inline(always)]
    fn leave(&mut self, used: &[Chunk], down_to: u32) {
        let first = used[self.chunk - 1].first;
        self.next = first.max(down_to);
        if self.next == first {
            self.chunk -= 1;
            self.argument = self.chunk.checked_sub(1).map_or(0, |before| used[before].used);
        }
    }
}

/// # Safety
/// The chunk holds the statements before `next`, with `argument` arguments in total, each of which is before its statement; `room` has an
/// adjoint for each. Returns the number of arguments before the last statement that was swept.
unsafe fn sweep_chunk<A: Adjoint, R: Room<A>>(chunk: &Chunk, end: (u32, usize), down_to: u32, room: R) -> usize {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn fused<A: Adjoint, R: Room<A>>(chunk: &Chunk, end: (u32, usize), down_to: u32, room: R) -> usize {
        // SAFETY: it requires what the caller of `sweep_chunk` guarantees.
        unsafe { statements::<A, R, true>(chunk, end, down_to, room) }
    }
    // SAFETY: both require what our caller guarantees; `level` reports Avx2 and Avx512 only after detecting AVX2 and FMA.
    unsafe {
        match level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => fused(chunk, end, down_to, room),
            _ => statements::<A, R, false>(chunk, end, down_to, room),
        }
    }
}

/// Propagates an adjoint that is not finite.
///
/// # Safety
/// Arguments and partial derivatives are valid in this range, adjoints at every argument in it.
#[cold]
#[inline(never)]
unsafe fn pass_stopped<A: Adjoint, R: Room<A>>(
    (room, arguments, partials): (&mut R, *const u32, *const f64),
    range: std::ops::Range<usize>,
    adjoint: &A,
) {
    for k in range {
        // SAFETY: `k` is in the range, so argument `k`, its partial derivative and its adjoint are valid; `adjoint` is not one of them.
        unsafe { (*room.at(*arguments.add(k))).add_stopped(*partials.add(k), adjoint) };
    }
}

/// # Safety
/// As [`sweep_chunk`].
#[inline(always)]
unsafe fn statements<A: Adjoint, R: Room<A>, const FUSED: bool>(
    chunk: &Chunk,
    (next, argument): (u32, usize),
    down_to: u32,
    mut room: R,
) -> usize {
    let (partials, arguments, counts) = chunk.pointers();
    let counts = counts.wrapping_sub(chunk.first as usize);
    let first = chunk.first.max(down_to);
    let listed = chunk.widths.partition_point(|(index, _)| *index < next);
    let mut widths = chunk.widths[..listed].iter().rev();
    let mut at = argument;
    for index in (first..next).rev() {
        // SAFETY: statements `first..next` are in the chunk, so the counts and adjoints of all are valid. Going down from `argument`, `at`
        // is reduced by the count that was written with each statement, or listed for it, so its arguments are `at..at + count`. They are
        // smaller than `index`: their adjoints are valid, and none is `own`, which is not used after the next one was looked up.
        unsafe {
            let count = *counts.wrapping_add(index as usize);
            let pass = |room: &mut R, k: usize, adjoint: &A| {
                let to = room.at(*arguments.add(k));
                (*to).add_scaled::<FUSED>(*partials.add(k), adjoint);
            };
            let stop = |room: &mut R, from: usize, to: usize| {
                let adjoint = std::mem::replace(&mut *room.at(index), A::ZERO);
                pass_stopped((room, arguments, partials), from..to, &adjoint);
            };
            match count {
                2 => {
                    at -= 2;
                    let own = room.at(index);
                    let adjoint = *own;
                    if adjoint.is_plain() {
                        *own = A::ZERO;
                        pass(&mut room, at, &adjoint);
                        pass(&mut room, at + 1, &adjoint);
                    } else if !adjoint.is_zero() {
                        stop(&mut room, at, at + 2);
                    }
                }
                1 => {
                    at -= 1;
                    let own = room.at(index);
                    let adjoint = *own;
                    if adjoint.is_plain() {
                        *own = A::ZERO;
                        pass(&mut room, at, &adjoint);
                    } else if !adjoint.is_zero() {
                        stop(&mut room, at, at + 1);
                    }
                }
                0 => {}
                _ => {
                    let mut listed = || widths.next().map_or(0, |(_, count)| *count);
                    let count = if count < WIDE { usize::from(count) } else { listed() };
                    at -= count;
                    let own = room.at(index);
                    let adjoint = *own;
                    if adjoint.is_plain() {
                        *own = A::ZERO;
                        (at..at + count).for_each(|k| pass(&mut room, k, &adjoint));
                    } else if !adjoint.is_zero() {
                        stop(&mut room, at, at + count);
                    }
                }
            }
        }
    }
    at
}
