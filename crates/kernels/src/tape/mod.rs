//! A Wengert list of scalars: one for each thread, recorded by a bump pointer and swept backward.
//!
//! A statement is what one number depends on: for each argument the number of its statement and the partial derivative by it, 12
//! bytes, and one byte for how many they are. Statements are numbered from 1; 0 stands for a number without a derivative. Their data
//! lie in chunks that are kept for the next recording.
//!
//! A [`Place`] names a statement of one recording. Only the tape makes places, and every use compares the recording: so a place from
//! another thread, or from a recording that has ended, is an error and never a wrong number, and whatever is swept lies in bounds.

mod chunk;
mod sweep;

pub use sweep::{Adjoint, Adjoints};

use chunk::Chunk;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
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

/// Why a place cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// It belongs to a recording that has ended, or to another thread.
    Ended,
    /// It belongs to a recording around this one.
    Outer,
    /// There are more statements than a recording can number.
    Full,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
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

/// The tape of a thread.
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
        }
    };
    static CHUNKS: RefCell<Chunks> = const { RefCell::new(Chunks { used: Vec::new(), free: Vec::new(), inputs: Vec::new(), outer: Vec::new() }) };
}

/// The memory of a thread's tape.
struct Chunks {
    used: Vec<Chunk>,
    free: Vec<Chunk>,
    /// Statements without arguments, ascending.
    inputs: Vec<u32>,
    /// Recordings around the one that is running.
    outer: Vec<u32>,
}

/// Recordings of the process so far; none has the number of another, until they are used up.
static RECORDINGS: AtomicU32 = AtomicU32::new(0);

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
    chunks: usize,
    argument: usize,
}

/// A recording of this thread.
pub struct Recording {
    start: Position,
    /// Arguments that were recorded before it.
    arguments: usize,
    /// A recording belongs to its thread.
    here: PhantomData<*const ()>,
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
///     let y = push1(6.0, x, stop);
///     let z = push2([2.0, 1.0], [y, x], stop);
///     adjoints.add(z, &1.0, stop);
///     recording.sweep(&mut adjoints, recording.start());
///     adjoints.of(x, stop)
/// });
/// assert_eq!(slope, 13.0);
/// ```
pub fn record<R>(f: impl FnOnce(&Recording) -> R) -> R {
    let number = loop {
        let number = RECORDINGS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if number != 0 {
            break number;
        }
    };
    /// Ends the recording, also when `f` panics.
    struct Ending(Mark);
    impl Drop for Ending {
        fn drop(&mut self) {
            TAPE.with(|tape| {
                tape.rewind(self.0);
                let outer = CHUNKS.with_borrow_mut(|chunks| chunks.outer.pop());
                tape.recording.set(outer.unwrap_or(0));
            });
        }
    }
    let mark = TAPE.with(|tape| {
        CHUNKS.with_borrow_mut(|chunks| chunks.outer.push(tape.recording.get()));
        tape.recording.set(number);
        tape.mark()
    });
    let _ending = Ending(mark);
    let arguments = TAPE.with(Tape::arguments_so_far);
    f(&Recording { start: Position(mark.next), arguments, here: PhantomData })
}

impl Recording {
    /// Where it began.
    pub fn start(&self) -> Position {
        self.start
    }

    /// Where it is now.
    pub fn position(&self) -> Position {
        Position(TAPE.with(|tape| tape.next.get()))
    }

    /// Bytes of what was recorded since it began.
    pub fn bytes(&self) -> usize {
        let arguments = TAPE.with(Tape::arguments_so_far) - self.arguments;
        arguments * (size_of::<f64>() + size_of::<u32>()) + self.position().since(self.start) * size_of::<u8>()
    }

    /// A statement without arguments.
    #[inline]
    #[track_caller]
    pub fn input(&self, stop: OnMisuse) -> Place {
        let stop = Stop::here(stop);
        TAPE.with(|tape| {
            let index = tape.reserve(stop);
            CHUNKS.with_borrow_mut(|chunks| chunks.inputs.push(index));
            tape.close(index, 0)
        })
    }

    /// Forgets what `f` records. A place of it that is used afterwards is an error as long as no other has its number.
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Ending(Mark);
        impl Drop for Ending {
            fn drop(&mut self) {
                TAPE.with(|tape| tape.rewind(self.0));
            }
        }
        let _ending = Ending(TAPE.with(Tape::mark));
        f()
    }
}

/// A statement with one argument; a constant's has none.
#[track_caller]
#[inline(always)]
pub fn push1(partial: f64, x: Place, stop: OnMisuse) -> Place {
    if !x.is_active() {
        return Place::NONE;
    }
    let stop = Stop::here(stop);
    TAPE.with(|tape| {
        tape.expect(x, stop);
        let index = tape.reserve(stop);
        let at = tape.argument.get();
        // SAFETY: there is room for this statement with two arguments.
        unsafe { tape.write(at, partial, x) };
        tape.argument.set(at + 1);
        tape.close(index, 1)
    })
}

/// A statement with two arguments, without those that are constants.
#[track_caller]
#[inline(always)]
pub fn push2(partials: [f64; 2], [x, y]: [Place; 2], stop: OnMisuse) -> Place {
    if x.index | y.index == 0 {
        return Place::NONE;
    }
    let stop = Stop::here(stop);
    TAPE.with(|tape| {
        if tape.is_foreign(x) | tape.is_foreign(y) {
            tape.expect(x, stop);
            tape.expect(y, stop);
        }
        let index = tape.reserve(stop);
        let at = tape.argument.get();
        let then = at + usize::from(x.is_active());
        // SAFETY: there is room for this statement with two arguments; the second is written over a first that is a constant.
        unsafe {
            tape.write(at, partials[0], x);
            tape.write(then, partials[1], y);
        }
        let end = then + usize::from(y.is_active());
        tape.argument.set(end);
        tape.close(index, (end - at) as u8)
    })
}

/// A statement with any number of arguments; constants are left out. Panics unless there is a partial derivative for each.
#[track_caller]
pub fn push_all(partials: &[f64], places: &[Place], stop: OnMisuse) -> Place {
    assert_eq!(partials.len(), places.len(), "a partial derivative for each argument");
    let count = places.iter().filter(|place| place.is_active()).count();
    if count == 0 {
        return Place::NONE;
    }
    let stop = Stop::here(stop);
    TAPE.with(|tape| {
        places.iter().for_each(|place| tape.expect(*place, stop));
        let index = tape.reserve_wide(count, stop);
        let first = tape.argument.get();
        let active = partials.iter().zip(places).filter(|(_, place)| place.is_active());
        for (k, (partial, place)) in active.enumerate() {
            // SAFETY: there is room for `count` arguments.
            unsafe { tape.write(first + k, *partial, *place) };
        }
        tape.argument.set(first + count);
        if count >= usize::from(WIDE) {
            CHUNKS.with_borrow_mut(|chunks| chunks.used.last_mut().expect("it is open").widths.push((index, count)));
        }
        let place = tape.close(index, count.min(usize::from(WIDE)) as u8);
        tape.narrow();
        place
    })
}

/// The count of statements whose number of arguments is listed beside them.
const WIDE: u8 = u8::MAX;

impl Tape {
    fn mark(&self) -> Mark {
        let chunks = CHUNKS.with_borrow(|chunks| chunks.used.len());
        Mark { next: self.next.get(), chunks, argument: self.argument.get() }
    }

    fn arguments_so_far(&self) -> usize {
        CHUNKS.with_borrow(|chunks| match chunks.used.split_last() {
            Some((_, closed)) => closed.iter().map(|chunk| chunk.used).sum::<usize>() + self.argument.get(),
            None => 0,
        })
    }

    /// Whether a place is of another recording, or of a part that was forgotten. A constant has nothing to compare.
    #[inline(always)]
    fn is_foreign(&self, place: Place) -> bool {
        place.is_active() & ((place.recording != self.recording.get()) | (place.index >= self.next.get()))
    }

    #[inline(always)]
    fn expect(&self, place: Place, stop: Stop) {
        if self.is_foreign(place) {
            misused(place, stop);
        }
    }

    /// Room for a statement with at most two arguments; its number.
    #[inline(always)]
    fn reserve(&self, stop: Stop) -> u32 {
        if self.next.get() == self.end.get() {
            self.grow(2, stop);
        }
        self.next.get()
    }

    /// Room for a statement with so many arguments.
    fn reserve_wide(&self, most: usize, stop: Stop) -> u32 {
        let room = CHUNKS.with_borrow(|chunks| chunks.used.last().map_or(0, Chunk::arguments_most));
        if self.next.get() == self.end.get() || room - self.argument.get().min(room) < most.max(2) {
            self.grow(most.max(2), stop);
        }
        self.next.get()
    }

    /// # Safety
    /// The argument is one that was reserved.
    #[inline(always)]
    unsafe fn write(&self, at: usize, partial: f64, place: Place) {
        // SAFETY: within the chunk, as promised.
        unsafe {
            self.partials.get().add(at).write(partial);
            self.arguments.get().add(at).write(place.index);
        }
    }

    /// Ends the statement that was reserved.
    #[inline(always)]
    fn close(&self, index: u32, count: u8) -> Place {
        // SAFETY: the statement has room in the chunk; counts are addressed from statement 0 on.
        unsafe { self.counts.get().wrapping_add(index as usize).write(count) };
        self.next.set(index + 1);
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
        self.end.set(self.next.get() + room as u32);
    }

    /// Opens a chunk with room for a statement of `most` arguments.
    #[cold]
    #[inline(never)]
    fn grow(&self, most: usize, stop: Stop) {
        if self.recording.get() == 0 {
            stop.with(Misuse::Ended);
        }
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
        });
        self.point(0);
        if self.end.get() <= self.next.get() {
            stop.with(Misuse::Full);
        }
    }

    /// Points to the last chunk, at an argument.
    fn point(&self, argument: usize) {
        CHUNKS.with_borrow_mut(|chunks| match chunks.used.last_mut() {
            Some(chunk) => {
                let (partials, arguments, counts) = chunk.pointers();
                self.partials.set(partials);
                self.arguments.set(arguments);
                self.counts.set(counts.wrapping_sub(chunk.first as usize));
            }
            None => self.end.set(self.next.get()),
        });
        self.argument.set(argument);
        if CHUNKS.with_borrow(|chunks| !chunks.used.is_empty()) {
            self.narrow();
        }
    }

    fn rewind(&self, mark: Mark) {
        CHUNKS.with_borrow_mut(|chunks| {
            while chunks.used.len() > mark.chunks {
                chunks.free.extend(chunks.used.pop());
            }
            if let Some(chunk) = chunks.used.last_mut() {
                chunk.reopen(mark.next);
            }
            while chunks.inputs.pop_if(|input| *input >= mark.next).is_some() {}
        });
        self.next.set(mark.next);
        self.point(mark.argument);
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
