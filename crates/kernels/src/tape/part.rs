//! Parts of a recording, which are discarded when they end.

use super::{CHUNKS, Chunks, Failure, Mark, OnMisuse, Place, Position, Stop, Stretch, Tape};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

/// The bytes of an argument with its partial derivative, and of an argument count.
const ARGUMENT: usize = size_of::<f64>() + size_of::<u32>();
const COUNT: usize = size_of::<u8>();

/// The statements recorded since some position; they are discarded at the end, also on a panic.
pub struct Part {
    pub(super) mark: Mark,
    /// Its own stretch, and the one that ran before together with its enclosing one.
    pub(super) stretch: Stretch,
    pub(super) around: (Stretch, Stretch),
    keeps: Cell<bool>,
    /// Whether the part is kept if adjoints of it are held somewhere, and whether adjoints of earlier statements were held.
    holds: Cell<bool>,
    held: bool,
    /// A part belongs to its thread.
    here: PhantomData<*const ()>,
}

impl Drop for Part {
    fn drop(&mut self) {
        let (tape, (stretch, around)) = (Tape::here(), self.around);
        tape.stretch.set(stretch);
        tape.around.set(around);
        let is_held = tape.held.replace(self.held || tape.held.get());
        if !(self.keeps.get() || self.holds.get() && is_held) {
            return tape.rewind(self.mark);
        }
        if stretch != around {
            // It is held in `Tape` again.
            tape.unlist_stretch(self.mark.stretches);
        }
        if self.has_inputs() {
            // Its statements stay readable.
            tape.list_stretch(self.stretch);
        }
    }
}

/// Discards the statements that `f` records, unless it decides to [keep](Part::keep) them. Using one of their places afterwards is an
/// error.
///
/// ```
/// use wengert_kernels::tape::{part, push1, record};
/// let stop = |misuse, _: &_| panic!("{misuse}");
/// record(|recording| {
///     let x = recording.input(stop);
///     let before = recording.position();
///     part(|_| push1(0.0, 2.0, x, stop));
///     assert_eq!(recording.position(), before);
/// });
/// ```
pub fn part<R>(f: impl FnOnce(&Part) -> R) -> R {
    f(&Part::begin())
}

impl Part {
    pub(super) fn begin() -> Part {
        let tape = Tape::here();
        tape.expect_no_writing();
        let (mark, stretch, around) = (tape.mark(), tape.new_stretch(), (tape.stretch.get(), tape.around.get()));
        if around.0 != around.1 {
            tape.list_stretch(around.1);
        }
        tape.stretch.set(stretch);
        tape.around.set(around.0);
        let (keeps, holds, held) = (Cell::new(false), Cell::new(false), tape.held.replace(false));
        Part { mark, stretch, around, keeps, holds, held, here: PhantomData }
    }

    /// The position where it began.
    pub fn start(&self) -> Position {
        Position { next: self.mark.next, stretch: self.stretch }
    }

    /// Keeps the recorded statements: its inputs, and the places that are [given away](Part::give).
    pub fn keep(&self) {
        self.keeps.set(true);
    }

    /// Keeps the part, even after a panic, if adjoints of its statements [are kept](super::Recording::hold) somewhere.
    pub fn holds_adjoints(&self) {
        self.holds.set(true);
    }

    /// Whether adjoints of its statements are kept somewhere.
    pub fn is_held(&self) -> bool {
        Tape::here().held.get()
    }

    /// Converts a place of a part that is [kept](Part::keep) to a place of the enclosing one.
    pub fn give(&self, place: Place) -> Place {
        if self.holds(place) { self.around.0.place(place.index()) } else { place }
    }

    /// Whether it has inputs of its own.
    pub fn has_inputs(&self) -> bool {
        let tape = Tape::here();
        (tape.runs.get(), tape.inputs.get()) != (self.mark.runs, self.mark.inputs)
    }

    /// Whether it recorded this place.
    pub fn holds(&self, place: Place) -> bool {
        place.stretch() == self.stretch
    }

    /// The bytes of a statement with this many arguments.
    pub fn statement_bytes(arguments: usize) -> usize {
        arguments * ARGUMENT + COUNT
    }

    /// The bytes recorded since it began.
    pub fn bytes(&self) -> usize {
        let arguments = CHUNKS
            .with_borrow(|chunks| self.chunks(chunks).map(|number| self.range(chunks, number).len()).sum::<usize>());
        let statements = Tape::here().position().since(self.start());
        arguments * ARGUMENT + statements * COUNT
    }

    /// The earlier places that it reads, each once, in the order of their statements.
    #[track_caller]
    pub fn reads(&self, places: &mut Vec<Place>, stop: OnMisuse) {
        let stop = Stop::here(stop);
        places.clear();
        let start = self.mark.next;
        // Earlier statements can be read as long as the enclosing stretch runs.
        let place = |index: &u32| self.around.0.place(*index);
        let mut see = |some: &[u32]| places.extend(some.iter().filter(|index| (1..start).contains(*index)).map(place));
        self.each_arguments(&mut see, stop);
        CHUNKS.with_borrow(|chunks| chunks.externals[self.mark.externals..].iter().for_each(|own| see(&own.inputs)));
        places.sort_unstable_by_key(|place| place.index());
        places.dedup();
    }

    /// The numbers of the chunks that hold its statements.
    fn chunks(&self, chunks: &Chunks) -> Range<usize> {
        self.mark.chunks.saturating_sub(1)..chunks.used.len()
    }

    /// The range of its arguments in a chunk.
    fn range(&self, chunks: &Chunks, number: usize) -> Range<usize> {
        let from = if number + 1 == self.mark.chunks { self.mark.argument } else { 0 };
        let is_last = number + 1 == chunks.used.len();
        from..if is_last { Tape::here().argument.get() } else { chunks.used[number].used }
    }

    /// Visits all its arguments, chunk by chunk.
    fn each_arguments(&self, mut see: impl FnMut(&[u32]), stop: Stop) {
        let seen = CHUNKS.with_borrow_mut(|chunks| {
            self.chunks(chunks).try_for_each(|number| {
                let range = self.range(chunks, number);
                let (_, arguments, _) = Tape::here().load(chunks, number)?.pointers();
                // SAFETY: the range ends with the number of arguments in the chunk: the tape counts those of the last chunk, and those of
                // others were counted when they were closed. The part began where the range does, and only grows.
                see(unsafe { std::slice::from_raw_parts(arguments.add(range.start), range.len()) });
                Ok(())
            })
        });
        seen.unwrap_or_else(|failure: Failure| stop.with(failure.into()));
    }
}
