//! Recordings within a limit of memory: chunks and adjoints that have no room are in files.
//!
//! Chunks under a limit have one size, an eighth of the memory for chunks. When a chunk is full and there is no room for another one, the
//! oldest one in memory is written to a file. So those in the file are always the first ones; the last one, which is being written, is
//! never among them. A sweep reads one chunk at a time, from the last to the first. Adjoints are in [pages](pages).

mod failure;
mod pages;
mod segments;

pub use failure::Failure;
pub(super) use pages::Paged;

use super::chunk::Chunk;
use super::push::Writing;
use super::{CHUNKS, Chunks, Misuse, OnMisuse, Recording, Stop, Tape, record};
use crate::spill::{SpillFile, available};
use pages::Pages;
use segments::Segments;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

/// The most memory that recordings may take, and the folder of the files that hold the rest.
///
/// ```
/// use wengert_kernels::tape::Limit;
/// let limit = Limit::bytes(1 << 30).folder("/data").statements(1_000_000_000);
/// assert_eq!(limit.disk(), 25_000_000_000);
/// assert!(Limit::LEAST <= 1 << 18);
/// ```
#[derive(Clone)]
pub struct Limit {
    bytes: usize,
    folder: PathBuf,
    statements: Option<usize>,
    progress: Option<Rc<dyn Fn(Progress)>>,
}

impl From<usize> for Limit {
    fn from(bytes: usize) -> Limit {
        Limit::bytes(bytes)
    }
}

/// The bytes of a statement of two arguments.
const STATEMENT: usize = 25;

impl Limit {
    /// The least limit, in bytes.
    pub const LEAST: usize = 1 << 18;

    /// At most so many bytes of memory, for statements, adjoints and their lists. Files are in the folder for temporary files.
    pub fn bytes(bytes: usize) -> Limit {
        Limit { bytes, folder: std::env::temp_dir(), statements: None, progress: None }
    }

    /// Another folder for the files. It must exist.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Limit {
        self.folder = folder.into();
        self
    }

    /// The expected number of statements. If the disk has no room for [that many](Limit::disk), nothing is recorded.
    pub fn statements(mut self, statements: usize) -> Limit {
        self.statements = Some(statements);
        self
    }

    /// A function that is called after every segment that was recorded or swept. It must not record.
    pub fn progress(mut self, see: impl Fn(Progress) + 'static) -> Limit {
        self.progress = Some(Rc::new(see));
        self
    }

    /// The bytes on disk that the [expected](Limit::statements) statements of two arguments take. Where statements read far back, adjoints are
    /// on disk too, up to 8 bytes more for each.
    pub fn disk(&self) -> u64 {
        (self.statements.unwrap_or(0) as u64).saturating_mul(STATEMENT as u64)
    }
}

/// How far a recording within a limit is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// The number of statements that were recorded, or swept.
    pub done: usize,
    /// The number of statements to sweep; while recording, the expected number, if there is one.
    pub total: Option<usize>,
    /// The bytes of memory in use.
    pub memory: usize,
    /// The bytes in files.
    pub disk: u64,
}

/// The two phases of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Statements are recorded.
    Record,
    /// Adjoints are propagated.
    Sweep,
}

/// A limit in force, with what it governs.
pub(super) struct Limited {
    /// Unique on this thread.
    number: u64,
    limit: Limit,
    /// The number of the first statement.
    start: u32,
    segments: Segments,
    pages: Pages,
}

thread_local! {
    /// The limits in force, the innermost last.
    static LIMITS: RefCell<Vec<Limited>> = const { RefCell::new(Vec::new()) };
    static NUMBERS: Cell<u64> = const { Cell::new(0) };
}

/// [Records](record) within a limit of memory. All recordings of this thread inside `f` are under the limit. Files are removed at the end,
/// also after a panic.
///
/// ```
/// use wengert_kernels::tape::{Adjoints, Limit, push1, record_within};
/// let stop = |misuse, _: &_| panic!("{misuse}");
/// let mut adjoints = Adjoints::<f64>::default();
/// let slope = record_within(Limit::bytes(1 << 20), stop, |recording| {
///     let x = recording.input(stop);
///     let y = (0..200_000).fold(x, |y, k| push1(0.0, if k % 2 == 0 { 2.0 } else { 0.5 }, y, stop));
///     adjoints.add(y, &3.0, stop);
///     adjoints.sweep(recording.start(), stop);
///     adjoints.of(x, stop)
/// });
/// assert_eq!(slope, 3.0);
/// ```
#[track_caller]
pub fn record_within<R>(limit: Limit, stop: OnMisuse, f: impl FnOnce(&Recording) -> R) -> R {
    /// Ends the limit, even if `f` panics.
    struct Ending {
        first: usize,
        argument: usize,
    }
    impl Drop for Ending {
        fn drop(&mut self) {
            let tape = Tape::here();
            tape.limits.set(tape.limits.get() - 1);
            let ended = LIMITS.with_borrow_mut(Vec::pop);
            CHUNKS.with_borrow_mut(|chunks| chunks.used.truncate(self.first));
            tape.chunks.set(self.first);
            match self.first {
                0 => tape.set_room(tape.next.get()),
                _ => tape.point(self.argument),
            }
            // The tape is consistent again: what the user's function captured may record when it is dropped.
            drop(ended);
        }
    }
    let (tape, stop) = (Tape::here(), Stop::here(stop));
    tape.expect_no_writing();
    let limited = Limited::begin(limit, tape).unwrap_or_else(|failure| stop.with(failure.into()));
    let ready = CHUNKS.try_with(|chunks| chunks.borrow_mut().free.clear()).is_ok();
    if !ready || LIMITS.try_with(|limits| limits.borrow_mut().push(limited)).is_err() {
        stop.with(Misuse::Destroyed);
    }
    let _ending = Ending { first: tape.chunks.get(), argument: tape.argument.get() };
    tape.limits.set(tape.limits.get() + 1);
    // Nothing under the limit is written to the chunk before.
    tape.grow(2, stop);
    record(f)
}

impl Limited {
    fn begin(limit: Limit, tape: &Tape) -> Result<Limited, Failure> {
        if limit.bytes < Limit::LEAST {
            return Err(Failure::Small { needed: Limit::LEAST, allowed: limit.bytes });
        }
        if limit.folder.as_os_str().is_empty() {
            return Err(Failure::NoFolder);
        }
        let file = SpillFile::create(&limit.folder).map_err(Failure::Folder)?;
        if let Some(available) = available(&limit.folder).filter(|available| *available < limit.disk()) {
            return Err(Failure::Disk { folder: limit.folder.clone(), needed: limit.disk(), available });
        }
        let number = NUMBERS.get();
        NUMBERS.set(number + 1);
        // A statement of two arguments takes 25 bytes, its adjoint 8: the parts are as these.
        let pages = Pages::new(limit.bytes / 4, limit.folder.clone());
        let segments = Segments::new(limit.bytes, file, limit.folder.clone(), tape.chunks.get());
        Ok(Limited { number, limit, start: tape.next.get(), segments, pages })
    }

    fn progress(&self, phase: Phase, done: usize, total: Option<usize>) -> Option<(Rc<dyn Fn(Progress)>, Progress)> {
        let memory = self.segments.memory() + self.pages.memory();
        let disk = self.segments.disk() + self.pages.disk();
        self.limit.progress.clone().map(|see| (see, Progress { phase, done, total, memory, disk }))
    }
}

impl Tape {
    /// Opens a chunk under the innermost limit; the chunk before it was closed.
    pub(super) fn open_within(&self, chunks: &mut Chunks, most: usize) -> Result<Chunk, Misuse> {
        LIMITS.with_borrow_mut(|limits| {
            let limited = limits.last_mut().expect("there is a limit");
            let lists = limited.pages.lists(self.next.get());
            let memory = limited.segments.make_room(&mut chunks.used, most, lists)?;
            Ok(Chunk::over(memory))
        })
    }

    /// Takes back chunks from number `keep` on; the last one that is left is in memory afterwards, closed at `end` if it is another one.
    pub(super) fn forget_within(&self, chunks: &mut Chunks, keep: usize, (next, argument): (u32, usize)) {
        LIMITS.with_borrow_mut(|limits| {
            let segments = &mut limits.last_mut().expect("there is a limit").segments;
            chunks.used.drain(keep..).rev().for_each(|chunk| segments.forget(chunk));
            if let Some(memory) = segments.reopen(&chunks.used) {
                let last = chunks.used.last_mut().expect("it is in the file");
                last.close(next, argument);
                last.reopen(next);
                let mut chunk = Chunk::over(memory);
                chunk.open(next);
                chunks.used.push(chunk);
            }
        });
    }

    /// A chunk, which is in memory afterwards.
    pub(super) fn load<'c>(&self, chunks: &'c mut Chunks, number: usize) -> Result<&'c Chunk, Failure> {
        if chunks.used[number].memory.is_none() {
            LIMITS.with_borrow_mut(|limits| {
                let mut around = limits.iter_mut().rev();
                let limited =
                    around.find(|limited| limited.segments.first() <= number).expect("a limit put it into a file");
                limited.segments.load(&mut chunks.used, number)
            })?;
        }
        Ok(&chunks.used[number])
    }

    /// Calls `f` with the pages of the innermost limit, and the number of those of `owner`.
    pub(super) fn with_pages<R>(
        &self,
        owner: &mut Owner,
        f: impl FnOnce(&mut Pages, usize) -> R,
    ) -> Result<R, Failure> {
        LIMITS.with_borrow_mut(|limits| {
            let innermost = limits.last().expect("there is a limit").number;
            if let Some((limit, number)) = owner.0.take_if(|(limit, _)| *limit != innermost)
                && let Some(around) = limits.iter_mut().find(|around| around.number == limit)
            {
                around.pages.close(number);
            }
            let limited = limits.last_mut().expect("there is a limit");
            let (_, number) = *owner.0.get_or_insert_with(|| (limited.number, limited.pages.open()));
            let result = f(&mut limited.pages, number);
            limited.pages.failure().map_or(Ok(result), Err)
        })
    }

    /// Tells the user how far a recording is.
    pub(super) fn tell_recorded(&self) {
        let told = LIMITS.with_borrow(|limits| {
            let limited = limits.last()?;
            let done = (self.next.get() - limited.start) as usize;
            limited.progress(Phase::Record, done, limited.limit.statements)
        });
        self.tell(told);
    }

    /// Tells the user how far a sweep is.
    pub(super) fn tell_swept(&self, done: usize, total: usize) {
        let told = LIMITS.with_borrow(|limits| limits.last()?.progress(Phase::Sweep, done, Some(total)));
        self.tell(told);
    }

    fn tell(&self, told: Option<(Rc<dyn Fn(Progress)>, Progress)>) {
        if let Some((see, progress)) = told {
            let _writing = Writing::begin(Tape::here());
            see(progress);
        }
    }
}

/// The pages of some adjoints: the number of their limit, and their number there.
#[derive(Debug, Default)]
pub(super) struct Owner(Option<(u64, usize)>);

impl Drop for Owner {
    fn drop(&mut self) {
        let Some((limit, number)) = self.0 else { return };
        // If the thread ends, or the limit has ended, the pages are gone.
        let _ = LIMITS.try_with(|limits| {
            let mut limits = limits.borrow_mut();
            if let Some(limited) = limits.iter_mut().find(|limited| limited.number == limit) {
                limited.pages.close(number);
            }
        });
    }
}

#[cfg(test)]
mod tests;
