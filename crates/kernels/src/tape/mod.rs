//! A Wengert list of scalars: one per thread, recorded with a bump pointer and swept backward.
//!
//! A statement records the dependencies of one number: for each argument its statement number and the partial derivative with respect to
//! it, 12 bytes, and one byte for their count. Statements are numbered from 1; 0 stands for a number without a derivative. The data are in
//! chunks that are reused by the next recording.
//!
//! A [`Place`] names a statement of a recording or of a part of one; each of these has a unique number. Only the tape creates places, and
//! every use compares this number. So a place from another thread, or from a recording or part that has ended, is an error and never a
//! wrong result, even if its index has been reused; and sweeps never go out of bounds.

mod adjoint;
mod check;
mod chunk;
mod external;
mod inputs;
mod limit;
mod misuse;
mod part;
mod place;
mod push;
mod stretch;
mod sweep;
mod walk;

pub use adjoint::Adjoint;
pub use check::{checked, is_checked};
pub use external::push_external;
pub use inputs::Inputs;
pub use limit::{Failure, Limit, Phase, Progress, record_within};
pub use misuse::{Misuse, OnMisuse};
pub use part::{Part, part};
pub use place::{Place, Pullback};
pub use push::{push_wide, push1, push2, push3};
pub use stretch::misuse;
pub use sweep::Adjoints;
pub use walk::Statement;

use chunk::Chunk;
use misuse::Stop;
use place::{External, Stretch};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

/// The state of a thread's tape. The fields that every statement reads and writes share one cache line.
#[repr(C, align(64))]
struct Tape {
    /// The running recording, or part of one, and the one that encloses it; 0 if there is none.
    stretch: Cell<Stretch>,
    around: Cell<Stretch>,
    /// The number of the next statement.
    next: Cell<u32>,
    /// The first statement number that has no room in the chunk.
    end: Cell<u32>,
    /// The next argument of the chunk.
    argument: Cell<usize>,
    /// The memory of the chunk: partial derivatives and arguments from its first one on, counts from statement 0 on.
    partials: Cell<*mut f64>,
    arguments: Cell<*mut u32>,
    counts: Cell<*mut u8>,
    /// The number of chunks in use, of statements whose argument count is listed, and of listed runs of inputs.
    chunks: Cell<usize>,
    wide: Cell<usize>,
    runs: Cell<usize>,
    /// The number of external functions in use.
    externals: Cell<usize>,
    /// The number of listed stretches, and of those among them that belong to enclosing recordings.
    stretches: Cell<usize>,
    outer: Cell<usize>,
    /// The last run of consecutive inputs.
    inputs: Cell<(u32, u32)>,
    /// The stretch numbers reserved for this thread.
    numbers: Cell<(u32, u32)>,
    /// Whether the arguments of a statement are being written.
    writes: Cell<bool>,
    /// Whether adjoints of statements recorded by the running part are kept somewhere.
    held: Cell<bool>,
    /// Whether statements are checked, and the number that has no room otherwise.
    checks: Cell<bool>,
    room: Cell<u32>,
    /// The number of limits in force.
    limits: Cell<usize>,
}

thread_local! {
    // `Tape` has no destructor, so an access compiles to an address.
    static TAPE: Tape = const {
        Tape {
            stretch: Cell::new(Stretch::NONE),
            around: Cell::new(Stretch::NONE),
            next: Cell::new(1),
            end: Cell::new(1),
            argument: Cell::new(0),
            partials: Cell::new(std::ptr::null_mut()),
            arguments: Cell::new(std::ptr::null_mut()),
            counts: Cell::new(std::ptr::null_mut()),
            chunks: Cell::new(0),
            wide: Cell::new(0),
            runs: Cell::new(0),
            externals: Cell::new(0),
            stretches: Cell::new(0),
            outer: Cell::new(0),
            inputs: Cell::new((0, 0)),
            numbers: Cell::new((0, 0)),
            writes: Cell::new(false),
            held: Cell::new(false),
            checks: Cell::new(false),
            room: Cell::new(1),
            limits: Cell::new(0),
        }
    };
    static CHUNKS: RefCell<Chunks> = const { RefCell::new(Chunks { used: Vec::new(), free: Vec::new(), inputs: Vec::new(), externals: Vec::new(), stretches: Vec::new() }) };
}

/// The memory of a thread's tape that its hot path does not touch.
struct Chunks {
    used: Vec<Chunk>,
    free: Vec<Chunk>,
    /// Runs of statements without arguments, ascending: the first statement of each, and the one after its last.
    inputs: Vec<(u32, u32)>,
    /// External functions, ascending.
    externals: Vec<Rc<External>>,
    /// Enclosing recordings and parts other than the two in `Tape`, and parts that were kept.
    stretches: Vec<Stretch>,
}

impl Drop for Chunks {
    /// Thread-locals that are older than this one are destroyed after it, and may record during their destruction. From now on no statement
    /// finds room, so nothing is written through pointers to the chunks; a request for room is [refused](Misuse::Destroyed).
    fn drop(&mut self) {
        let tape = Tape::here();
        tape.chunks.set(0);
        tape.set_room(tape.next.get());
    }
}

/// A position in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    next: u32,
    stretch: Stretch,
}

impl Position {
    /// The number of statements recorded since `before`.
    pub fn since(self, before: Position) -> usize {
        (self.next - before.next) as usize
    }
}

/// The state that is restored when a part of a recording ends.
#[derive(Clone, Copy)]
struct Mark {
    next: u32,
    end: u32,
    argument: usize,
    chunks: usize,
    wide: usize,
    runs: usize,
    externals: usize,
    stretches: usize,
    inputs: (u32, u32),
}

/// A recording of this thread.
pub struct Recording {
    part: Part,
}

/// Records the operations of `f` on places, and discards them afterwards. A nested recording has its own statements.
///
/// ```
/// use wengert_kernels::tape::{Adjoints, push1, push2, record};
/// let stop = |misuse, _: &_| panic!("{misuse}");
/// let mut adjoints = Adjoints::<f64>::default();
/// let slope = record(|recording| {
///     let x = recording.input(stop);
///     // y = x^2 at 3, z = 2 y + x
///     let y = push1(0.0, 6.0, x, stop);
///     let z = push2(0.0, [2.0, 1.0], [y, x], stop);
///     adjoints.add(z, &1.0, stop);
///     adjoints.sweep(recording.start(), stop);
///     adjoints.of(x, stop)
/// });
/// assert_eq!(slope, 13.0);
/// ```
pub fn record<R>(f: impl FnOnce(&Recording) -> R) -> R {
    /// Restores the enclosing recording, even if `f` panics. No adjoints of the inner one are kept.
    struct Ending(usize);
    impl Drop for Ending {
        fn drop(&mut self) {
            Tape::here().outer.set(self.0);
            Tape::here().held.set(false);
        }
    }
    let tape = Tape::here();
    let recording = Recording { part: Part::begin() };
    if recording.part.around.0 != Stretch::NONE {
        tape.list_stretch(recording.part.around.0);
    }
    let _ending = Ending(tape.outer.replace(tape.stretches.get()));
    tape.around.set(tape.stretch.get());
    tape.inputs.set((tape.next.get(), tape.next.get()));
    f(&recording)
}

impl Recording {
    /// The position where it began.
    pub fn start(&self) -> Position {
        self.part.start()
    }

    /// The current position.
    pub fn position(&self) -> Position {
        Tape::here().position()
    }

    /// Does not return unless the position belongs to this recording, or to a part of it that was not discarded.
    #[track_caller]
    pub fn expect(&self, position: Position, stop: OnMisuse) {
        let tape = Tape::here();
        self.expect_running(stop);
        if tape.misuse(position.stretch, position.next <= tape.next.get()).is_some() {
            stop(Misuse::Position, Location::caller());
        }
    }

    /// Does not return if another recording runs inside it.
    #[track_caller]
    pub fn expect_running(&self, stop: OnMisuse) {
        if Tape::here().misuse(self.part.stretch, true).is_some() {
            stop(Misuse::Inside, Location::caller());
        }
    }

    /// Notes that adjoints of recorded statements are kept somewhere: a [part that holds](Part::holds_adjoints) such statements is kept.
    pub fn hold(&self) {
        Tape::here().held.set(true);
    }

    /// The bytes recorded since it began.
    pub fn bytes(&self) -> usize {
        self.part.bytes()
    }
}

/// The count that marks a statement whose number of arguments is listed separately.
const WIDE: u8 = u8::MAX;

impl Tape {
    /// The tape of this thread.
    #[inline(always)]
    fn here() -> &'static Tape {
        let tape = TAPE.with(std::ptr::from_ref);
        // SAFETY: `TAPE` is const-initialised and `Tape` needs no drop, so it is valid from the start to the end of its thread, even while
        // other thread-locals are destroyed. `Tape` has `Cell`s and is not `Sync`, so the reference cannot move to another thread.
        unsafe { &*tape }
    }

    fn mark(&self) -> Mark {
        Mark {
            next: self.next.get(),
            end: self.room(),
            argument: self.argument.get(),
            chunks: self.chunks.get(),
            wide: self.wide.get(),
            runs: self.runs.get(),
            externals: self.externals.get(),
            stretches: self.stretches.get(),
            inputs: self.inputs.get(),
        }
    }

    fn position(&self) -> Position {
        Position { next: self.next.get(), stretch: self.stretch.get() }
    }

    /// Whether statement `index` has room and may read these places, none of which is a constant.
    #[inline(always)]
    fn is_ready<const N: usize>(&self, index: u32, places: [Place; N]) -> bool {
        let (own, has_room) = (self.stretch.get(), index != self.end.get());
        // Most statements only read places of their own stretch; these pay for no other check.
        if places.iter().fold(has_room, |all, place| all & own.has(*place, index)) {
            return true;
        }
        rarely();
        places.iter().fold(has_room, |all, place| all & self.is_own(*place, index))
    }

    /// Makes room for a statement that reads these places, with one slot for every two of them, or does not return.
    #[cold]
    #[inline(never)]
    fn prepare(&self, places: &[Place], (value, partials): (f64, &[f64]), stop: Stop) {
        self.expect_no_writing();
        places.iter().for_each(|place| self.expect(*place, stop));
        self.inspect(value, partials, stop);
        let statements = places.len().div_ceil(2).max(1) as u32;
        if self.room() - self.next.get() < statements {
            self.grow(2 * statements as usize, stop);
        }
        if self.room() - self.next.get() < statements {
            stop.with(Misuse::Full);
        }
        if self.checks.get() {
            // Makes room for this statement only.
            self.room.set(self.room.get() - (statements - 1));
            self.end.set(self.next.get() + statements);
        }
    }

    #[inline(always)]
    fn expect_no_writing(&self) {
        assert!(
            !self.writes.get(),
            "something is recorded while the arguments of a statement are given, or progress is shown"
        );
    }

    #[inline(always)]
    fn expect(&self, place: Place, stop: Stop) {
        if place.is_active() && !self.is_own(place, self.next.get()) {
            self.expect_other(place, stop);
        }
    }

    #[cold]
    #[inline(never)]
    fn expect_other(&self, place: Place, stop: Stop) {
        if let Some(misuse) = self.misuse(place.stretch(), place.index() < self.next.get()) {
            stop.with(misuse);
        }
    }

    /// Makes room for a statement with up to `most` arguments.
    fn reserve_wide(&self, most: usize, stop: Stop) -> u32 {
        let room = || {
            let all = CHUNKS.with_borrow(|chunks| chunks.used.last().map_or(0, Chunk::arguments_most));
            all - self.argument.get().min(all)
        };
        if self.next.get() == self.room() || room() < most.max(2) {
            self.grow(most.max(2), stop);
        }
        self.next.get()
    }

    /// Closes the current statement, which has `count` arguments from `at` on.
    #[inline(always)]
    fn close(&self, index: u32, at: usize, count: u8) -> Place {
        // SAFETY: callers close `next`, for which they found or made room: `next < end`, and the chunk has counts up to `end` (`narrow`).
        // `counts` is addressed from statement 0 on.
        unsafe { self.counts.get().wrapping_add(index as usize).write(count) };
        self.next.set(index + 1);
        self.argument.set(at + usize::from(count));
        self.stretch.get().place(index)
    }

    /// Every further statement of the chunk has room for two arguments.
    fn narrow(&self) {
        let room = CHUNKS.with_borrow(|chunks| {
            let chunk = chunks.used.last().expect("it is open");
            let arguments = (chunk.arguments_most() - self.argument.get()) / 2;
            let statements = (chunk.first as usize + chunk.statements_most()) - self.next.get() as usize;
            arguments.min(statements)
        });
        self.set_room(self.next.get() + room as u32);
    }

    /// Opens a chunk with room for a statement of `most` arguments.
    fn grow(&self, most: usize, stop: Stop) {
        let open = |chunks: &mut Chunks| {
            let before = chunks.used.last_mut().map(|chunk| {
                chunk.close(self.next.get(), self.argument.get());
                chunk.statements_most()
            });
            let mut chunk = if self.limits.get() > 0 {
                self.open_within(chunks, most)?
            } else {
                let fits = |chunk: &Chunk| chunk.arguments_most() >= most;
                chunks.free.pop().filter(fits).unwrap_or_else(|| Chunk::new(before.unwrap_or(0), most))
            };
            chunk.open(self.next.get());
            chunks.used.push(chunk);
            self.chunks.set(chunks.used.len());
            Ok(())
        };
        let opened = CHUNKS.try_with(|chunks| open(&mut chunks.borrow_mut()));
        opened.unwrap_or(Err(Misuse::Destroyed)).unwrap_or_else(|misuse| stop.with(misuse));
        self.point(0);
        if self.room() <= self.next.get() {
            stop.with(Misuse::Full);
        }
        if self.limits.get() > 0 {
            self.tell_recorded();
        }
    }

    /// Sets the pointers to the last chunk, at the given argument.
    fn point(&self, argument: usize) {
        CHUNKS.with_borrow_mut(|chunks| {
            let chunk = chunks.used.last_mut().expect("there is one");
            let (partials, arguments, counts) = chunk.pointers();
            self.partials.set(partials);
            self.arguments.set(arguments);
            self.counts.set(counts.wrapping_sub(chunk.first as usize));
        });
        self.argument.set(argument);
        self.narrow();
    }

    #[inline]
    fn rewind(&self, mark: Mark) {
        let lists = |mark: &Mark| (mark.chunks, mark.wide, mark.runs, mark.externals, mark.stretches);
        // Values captured by external functions are dropped only after the tape is consistent again.
        let _forgotten = (lists(&self.mark()) != lists(&mark)).then(|| self.rewind_lists(mark));
        self.next.set(mark.next);
        self.inputs.set(mark.inputs);
        if self.chunks.get() == mark.chunks {
            self.argument.set(mark.argument);
            self.set_room(mark.end);
        }
    }

    /// Discards list entries added since a mark, and releases chunks; the first chunk stays open.
    #[cold]
    fn rewind_lists(&self, mark: Mark) -> Vec<Rc<External>> {
        let is_moved = self.chunks.get() != mark.chunks;
        let forgotten = CHUNKS.with_borrow_mut(|chunks| {
            let keep = chunks.used.len().min(mark.chunks.max(1));
            if self.limits.get() > 0 {
                self.forget_within(chunks, keep, (mark.next, mark.argument));
            } else {
                chunks.free.extend(chunks.used.drain(keep..).rev());
            }
            if let Some(chunk) = chunks.used.last_mut() {
                chunk.reopen(mark.next);
            }
            chunks.inputs.truncate(mark.runs);
            chunks.stretches.truncate(mark.stretches);
            self.chunks.set(chunks.used.len());
            chunks.externals.split_off(mark.externals)
        });
        self.wide.set(mark.wide);
        self.runs.set(mark.runs);
        self.externals.set(mark.externals);
        self.stretches.set(mark.stretches);
        self.next.set(mark.next);
        if is_moved {
            // The first chunk stays open, and a limit may have opened another one.
            self.point(if mark.chunks == self.chunks.get() { mark.argument } else { 0 });
        }
        forgotten
    }
}

/// Marks the code after it as rarely reached.
#[cold]
#[inline(always)]
fn rarely() {}

#[cfg(test)]
mod tests;
