//! A Wengert list of scalars: one for each thread, recorded by a bump pointer and swept backward.
//!
//! A statement is what one number depends on: for each argument the number of its statement and the partial derivative by it, 12
//! bytes, and one byte for how many they are. Statements are numbered from 1; 0 stands for a number without a derivative. Their data
//! lie in chunks that are kept for the next recording.
//!
//! A [`Place`] names a statement of one recording. Only the tape makes places, and every use compares the recording: so a place from
//! another thread, or from a recording that has ended, is an error and never a wrong number, and whatever is swept lies in bounds.

mod check;
mod chunk;
mod external;
mod part;
mod push;
mod sweep;
mod walk;

pub use check::{checked, is_checked};
pub use external::{Pullback, push_external};
pub use part::{Part, part};
pub use push::{push_wide, push1, push2, push3};
pub use sweep::{Adjoint, Adjoints};
pub use walk::Statement;

use chunk::Chunk;
use external::External;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A statement of a recording, or none.
///
/// ```
/// use wengert_kernels::tape::Place;
/// assert!(!Place::NONE.is_active());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    index: u32,
    recording: u32,
}

impl Place {
    /// That of a constant.
    pub const NONE: Place = Place { index: 0, recording: 0 };

    /// Whether it names a statement.
    #[inline(always)]
    pub fn is_active(self) -> bool {
        self.index != 0
    }

    /// The number of the statement.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.index
    }
}

/// Why a statement cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Misuse {
    /// A place belongs to a recording that has ended, or to another thread.
    Ended,
    /// A place belongs to a recording around this one.
    Outer,
    /// There are more statements than a recording can number.
    Full,
    /// A value, or a partial derivative, is not finite; only where [that is looked at](checked).
    NotFinite {
        /// The value.
        value: f64,
        /// The first such partial derivative.
        partial: Option<f64>,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misuse::NotFinite { value, partial: None } => return write!(f, "the value of a number is {value}"),
            Misuse::NotFinite { value, partial: Some(partial) } => {
                return write!(f, "the slope of a number is {partial}, its value {value}");
            }
            Misuse::Ended => "a number is used whose recording has ended, or that belongs to another thread",
            Misuse::Outer => "a number of the recording around this one is used inside it",
            Misuse::Full => "a recording has at most 4294967294 statements",
        })
    }
}

/// Called with what went wrong, and the caller's line; it does not return.
pub type OnMisuse = fn(Misuse, &'static Location<'static>) -> !;

/// What to call, and the line that asked.
#[derive(Clone, Copy)]
struct Stop {
    call: OnMisuse,
    line: &'static Location<'static>,
}

impl Stop {
    #[inline(always)]
    #[track_caller]
    fn here(call: OnMisuse) -> Stop {
        Stop { call, line: Location::caller() }
    }

    fn with(self, misuse: Misuse) -> ! {
        (self.call)(misuse, self.line)
    }
}

/// The tape of a thread: where it is. What every statement reads and writes lies in one cache line.
#[repr(C, align(64))]
struct Tape {
    /// The recording that is running; 0 if there is none.
    recording: Cell<u32>,
    /// The number of the next statement.
    next: Cell<u32>,
    /// The number that has no room in the chunk.
    end: Cell<u32>,
    /// The next argument of the chunk.
    argument: Cell<usize>,
    /// The memory of the chunk: partial derivatives and arguments from its first, counts from statement 0 on.
    partials: Cell<*mut f64>,
    arguments: Cell<*mut u32>,
    counts: Cell<*mut u8>,
    /// Chunks in use, statements whose number of arguments is listed, and runs of inputs that are.
    chunks: Cell<usize>,
    wide: Cell<usize>,
    runs: Cell<usize>,
    /// Functions of others in use.
    externals: Cell<usize>,
    /// The last inputs, which follow each other.
    inputs: Cell<(u32, u32)>,
    /// Numbers that recordings of this thread may have.
    numbers: Cell<(u32, u32)>,
    /// Whether the arguments of a statement are being written.
    writes: Cell<bool>,
    /// Whether statements are looked at, and the number that has no room then.
    checks: Cell<bool>,
    room: Cell<u32>,
}

thread_local! {
    // Without a destructor, so that an access is an address and nothing else.
    static TAPE: Tape = const {
        Tape {
            recording: Cell::new(0),
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
            inputs: Cell::new((0, 0)),
            numbers: Cell::new((0, 0)),
            writes: Cell::new(false),
            checks: Cell::new(false),
            room: Cell::new(1),
        }
    };
    static CHUNKS: RefCell<Chunks> = const { RefCell::new(Chunks { used: Vec::new(), free: Vec::new(), inputs: Vec::new(), externals: Vec::new(), outer: Vec::new() }) };
}

/// The memory of a thread's tape, which its hot path does not touch.
struct Chunks {
    used: Vec<Chunk>,
    free: Vec<Chunk>,
    /// Runs of statements without arguments, ascending: the first of each, and the one behind.
    inputs: Vec<(u32, u32)>,
    /// Functions of others, ascending.
    externals: Vec<Rc<External>>,
    /// Recordings around the one that is running.
    outer: Vec<u32>,
}

/// Recordings of the process are numbered in blocks, one for each thread at a time; none has the number of another, until they
/// are used up.
static BLOCKS: AtomicU32 = AtomicU32::new(0);
const BLOCK: u32 = 1 << 10;

/// Where a recording was at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u32);

impl Position {
    /// How many statements lie between.
    pub fn since(self, before: Position) -> usize {
        (self.0 - before.0) as usize
    }
}

/// Everything that goes back to where it was when a part of a recording ends.
#[derive(Clone, Copy)]
struct Mark {
    next: u32,
    end: u32,
    argument: usize,
    chunks: usize,
    wide: usize,
    runs: usize,
    externals: usize,
    inputs: (u32, u32),
}

/// A recording of this thread.
pub struct Recording {
    part: Part,
}

/// Records what `f` does with places, and forgets it. A recording inside another has statements of its own.
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
///     adjoints.sweep(recording.start());
///     adjoints.of(x, stop)
/// });
/// assert_eq!(slope, 13.0);
/// ```
pub fn record<R>(f: impl FnOnce(&Recording) -> R) -> R {
    /// Ends the recording, also when `f` panics.
    struct Ending(u32);
    impl Drop for Ending {
        fn drop(&mut self) {
            Tape::here().recording.set(self.0);
            if self.0 != 0 {
                CHUNKS.with_borrow_mut(|chunks| chunks.outer.pop());
            }
        }
    }
    let tape = Tape::here();
    let recording = Recording { part: Part::begin() };
    let outer = tape.recording.replace(tape.number());
    if outer != 0 {
        CHUNKS.with_borrow_mut(|chunks| chunks.outer.push(outer));
    }
    let _ending = Ending(outer);
    tape.inputs.set((tape.next.get(), tape.next.get()));
    f(&recording)
}

impl Recording {
    /// Where it began.
    pub fn start(&self) -> Position {
        self.part.start()
    }

    /// Where it is now.
    pub fn position(&self) -> Position {
        Position(Tape::here().next.get())
    }

    /// Bytes of what was recorded since it began.
    pub fn bytes(&self) -> usize {
        self.part.bytes()
    }

    /// A statement without arguments.
    #[inline]
    #[track_caller]
    pub fn input(&self, stop: OnMisuse) -> Place {
        let tape = Tape::here();
        let (index, (first, behind)) = (tape.next.get(), tape.inputs.get());
        if index == tape.end.get() {
            tape.prepare(&[], (0.0, &[]), Stop::here(stop));
        }
        if index != behind {
            tape.list_inputs((first, behind));
        }
        tape.inputs.set((if index == behind { first } else { index }, index + 1));
        tape.close(index, tape.argument.get(), 0)
    }
}

/// The count of statements whose number of arguments is listed beside them.
const WIDE: u8 = u8::MAX;

impl Tape {
    /// That of this thread.
    #[inline(always)]
    fn here() -> &'static Tape {
        let tape = TAPE.with(std::ptr::from_ref);
        // SAFETY: it has no destructor and lives as long as its thread; it is not `Sync`, so that the reference stays there.
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
            inputs: self.inputs.get(),
        }
    }

    /// A number that no other recording has.
    fn number(&self) -> u32 {
        let (mut next, mut end) = self.numbers.get();
        if next == end {
            let block = BLOCKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(BLOCK);
            // No recording is number 0.
            (next, end) = (block.max(1), block.wrapping_add(BLOCK));
        }
        self.numbers.set((next.wrapping_add(1), end));
        next
    }

    /// Keeps a run of inputs, if it is one.
    #[cold]
    fn list_inputs(&self, (first, behind): (u32, u32)) {
        if first != behind {
            CHUNKS.with_borrow_mut(|chunks| chunks.inputs.push((first, behind)));
            self.runs.set(self.runs.get() + 1);
        }
    }

    /// Whether a place is of this recording, and no part of it that was forgotten; no constant is.
    #[inline(always)]
    fn is_own(&self, place: Place, next: u32) -> bool {
        (place.recording == self.recording.get()) & (place.index < next)
    }

    /// Whether statement `index` has room, and can read a place that is no constant.
    #[inline(always)]
    fn is_ready(&self, index: u32, place: Place) -> bool {
        self.is_own(place, index) & (index != self.end.get())
    }

    /// Makes room for a statement that reads these places, two for every one that would have room, or does not return.
    #[cold]
    #[inline(never)]
    fn prepare(&self, places: &[Place], (value, partials): (f64, &[f64]), stop: Stop) {
        assert!(!self.writes.get(), "something is recorded while the arguments of a statement are given");
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
            // Room for this one alone.
            self.room.set(self.room.get() - (statements - 1));
            self.end.set(self.next.get() + statements);
        }
    }

    #[inline(always)]
    fn expect(&self, place: Place, stop: Stop) {
        if place.is_active() && !self.is_own(place, self.next.get()) {
            misused(place, stop);
        }
    }

    /// Room for a statement with so many arguments.
    fn reserve_wide(&self, most: usize, stop: Stop) -> u32 {
        let room = CHUNKS.with_borrow(|chunks| chunks.used.last().map_or(0, Chunk::arguments_most));
        if self.next.get() == self.room() || room - self.argument.get().min(room) < most.max(2) {
            self.grow(most.max(2), stop);
        }
        self.next.get()
    }

    /// Ends the statement that has room, with `count` arguments from `at` on.
    #[inline(always)]
    fn close(&self, index: u32, at: usize, count: u8) -> Place {
        // SAFETY: the statement has room in the chunk; counts are addressed from statement 0 on.
        unsafe { self.counts.get().wrapping_add(index as usize).write(count) };
        self.next.set(index + 1);
        self.argument.set(at + usize::from(count));
        Place { index, recording: self.recording.get() }
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
        CHUNKS.with_borrow_mut(|chunks| {
            let before = chunks.used.last_mut().map(|chunk| {
                chunk.close(self.next.get(), self.argument.get());
                chunk.statements_most()
            });
            let fits = |chunk: &Chunk| chunk.arguments_most() >= most;
            let mut chunk = match chunks.free.pop() {
                Some(chunk) if fits(&chunk) => chunk,
                _ => Chunk::new(before.unwrap_or(0), most),
            };
            chunk.open(self.next.get());
            chunks.used.push(chunk);
            self.chunks.set(chunks.used.len());
        });
        self.point(0);
        if self.room() <= self.next.get() {
            stop.with(Misuse::Full);
        }
    }

    /// Points to the last chunk, at an argument.
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
        let lists = (self.chunks.get(), self.wide.get(), self.runs.get(), self.externals.get());
        // What functions of others captured is dropped when the tape is in order again.
        let _forgotten =
            (lists != (mark.chunks, mark.wide, mark.runs, mark.externals)).then(|| self.rewind_lists(mark));
        self.next.set(mark.next);
        self.inputs.set(mark.inputs);
        if self.chunks.get() == mark.chunks {
            self.argument.set(mark.argument);
            self.set_room(mark.end);
        }
    }

    /// Forgets what was listed since a mark, and gives chunks back; the first one stays open.
    #[cold]
    fn rewind_lists(&self, mark: Mark) -> Vec<Rc<External>> {
        let is_moved = self.chunks.get() != mark.chunks;
        let forgotten = CHUNKS.with_borrow_mut(|chunks| {
            while chunks.used.len() > mark.chunks.max(1) {
                chunks.free.extend(chunks.used.pop());
            }
            if let Some(chunk) = chunks.used.last_mut() {
                chunk.reopen(mark.next);
            }
            chunks.inputs.truncate(mark.runs);
            self.chunks.set(chunks.used.len());
            chunks.externals.split_off(mark.externals)
        });
        self.wide.set(mark.wide);
        self.runs.set(mark.runs);
        self.externals.set(mark.externals);
        self.next.set(mark.next);
        if is_moved {
            self.point(if mark.chunks == 0 { 0 } else { mark.argument });
        }
        forgotten
    }
}

#[cold]
#[inline(never)]
fn misused(place: Place, stop: Stop) -> ! {
    let is_outer = CHUNKS.with_borrow(|chunks| chunks.outer.contains(&place.recording));
    stop.with(if is_outer { Misuse::Outer } else { Misuse::Ended })
}

#[cfg(test)]
mod tests;
