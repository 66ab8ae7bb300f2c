//! Parts of a recording, which are forgotten when they end.

use super::{CHUNKS, Mark, Place, Position, Tape};
use std::cell::Cell;
use std::marker::PhantomData;

/// Bytes of an argument with its partial derivative, and of their count.
const ARGUMENT: usize = size_of::<f64>() + size_of::<u32>();
const COUNT: usize = size_of::<u8>();

/// What was recorded since some time; it is forgotten at the end, also by a panic.
pub struct Part {
    pub(super) mark: Mark,
    keeps: Cell<bool>,
    /// A part belongs to its thread.
    here: PhantomData<*const ()>,
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.keeps.get() {
            Tape::here().rewind(self.mark);
        }
    }
}

/// Forgets what `f` records, unless it decides to [keep](Part::keep) that. A place of it that is used afterwards is an error as long as no
/// other has its number.
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
        assert!(!tape.writes.get(), "a recording begins while the arguments of a statement are given");
        Part { mark: tape.mark(), keeps: Cell::new(false), here: PhantomData }
    }

    /// Where it began.
    pub fn start(&self) -> Position {
        Position(self.mark.next)
    }

    /// What was recorded stays.
    pub fn keep(&self) {
        self.keeps.set(true);
    }

    /// Whether it has inputs of its own.
    pub fn has_inputs(&self) -> bool {
        let tape = Tape::here();
        (tape.runs.get(), tape.inputs.get()) != (self.mark.runs, self.mark.inputs)
    }

    /// Whether it recorded this place.
    pub fn holds(&self, place: Place) -> bool {
        place.index >= self.mark.next
    }

    /// Bytes of a statement with so many arguments.
    pub fn statement_bytes(arguments: usize) -> usize {
        arguments * ARGUMENT + COUNT
    }

    /// Bytes of what was recorded since it began.
    pub fn bytes(&self) -> usize {
        let mut arguments = 0;
        self.each_arguments(|some| arguments += some.len());
        let statements = Position(Tape::here().next.get()).since(self.start());
        arguments * ARGUMENT + statements * COUNT
    }

    /// The places before it that it reads, each once, in the order of their statements.
    pub fn reads(&self, places: &mut Vec<Place>) {
        places.clear();
        let (start, recording) = (self.mark.next, Tape::here().recording.get());
        let place = |index: &u32| Place { index: *index, recording };
        let mut see = |some: &[u32]| places.extend(some.iter().filter(|index| (1..start).contains(*index)).map(place));
        self.each_arguments(&mut see);
        CHUNKS.with_borrow(|chunks| chunks.externals[self.mark.externals..].iter().for_each(|own| see(&own.inputs)));
        places.sort_unstable_by_key(|place| place.index);
        places.dedup();
    }

    /// All its arguments, chunk by chunk.
    fn each_arguments(&self, mut see: impl FnMut(&[u32])) {
        let last = Tape::here().argument.get();
        CHUNKS.with_borrow_mut(|chunks| {
            let (first, count) = (self.mark.chunks.saturating_sub(1), chunks.used.len());
            for (number, chunk) in chunks.used.iter_mut().enumerate().skip(first) {
                let from = if number + 1 == self.mark.chunks { self.mark.argument } else { 0 };
                let to = if number + 1 == count { last } else { chunk.used };
                let (_, arguments, _) = chunk.pointers();
                // SAFETY: so many arguments were written in this chunk.
                see(unsafe { std::slice::from_raw_parts(arguments.add(from), to - from) });
            }
        });
    }
}
