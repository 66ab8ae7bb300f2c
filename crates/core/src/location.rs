//! Finds the line of user code that an operation belongs to.
//!
//! `#[track_caller]` names the caller, but loses the line through `.map(Tensor::exp)` and function pointers, and names our own files inside
//! derivative rules. Both are replaced by the nearest scope that knows the line of user code: the transform or `backward` call being run,
//! or the forward line of the record whose rule runs.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use wengert_kernels::Line;

thread_local! {
    /// Rules inherit the line of the operation they differentiate.
    static INHERITED: Cell<Option<Line>> = const { Cell::new(None) };
    /// The line of the innermost call into this library that runs user code.
    static SCOPE: Cell<Option<Line>> = const { Cell::new(None) };
    /// The function made of other operations that runs, as the user called it.
    static FUNCTION: Cell<Option<&'static str>> = const { Cell::new(None) };
    static OURS: [Cell<(usize, bool)>; KNOWN] = const { [const { Cell::new((0, false)) }; KNOWN] };
}

/// The line to record for an operation called from `caller`.
#[inline]
pub fn resolve(caller: Line) -> Line {
    match INHERITED.get() {
        Some(line) => line,
        None => caller,
    }
}

/// The line to show to a person: like [`resolve`], but a line in the standard library or in these crates is replaced.
pub fn shown(line: Line) -> Line {
    if is_ours(line) { SCOPE.get().unwrap_or(line) } else { line }
}

/// A cache of earlier lookups, by address in memory: every operation asks, and the answer takes a text search.
const KNOWN: usize = 512;

fn is_ours(line: Line) -> bool {
    let address = line.address();
    OURS.with(|known| {
        let slot = &known[address / align_of::<usize>() % KNOWN];
        if slot.get().0 != address {
            slot.set((address, has_our_file(line)));
        }
        slot.get().1
    })
}

/// The crates whose lines mean nothing to a user.
const OUR_CRATES: [&str; 6] = ["core", "ops", "compiler", "engine", "scalar", "nn"];

fn has_our_file(line: Line) -> bool {
    let file = line.file();
    let own = file!().trim_end_matches("location.rs");
    let (before, after) = own.rsplit_once("core").expect("the folder of this crate");
    let lies_in = |name: &str| {
        let rest = file.strip_prefix(before).and_then(|file| file.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(after))
    };
    OUR_CRATES.into_iter().any(lies_in) || file.starts_with("/rustc/") || file.contains("/library/core/src/")
}

/// Restores a thread-local line when dropped.
pub struct Restore(&'static std::thread::LocalKey<Cell<Option<Line>>>, Option<Line>);

impl Drop for Restore {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Until the guard is dropped, operations belong to `line`.
pub fn inherit(line: Option<Line>) -> Restore {
    Restore(&INHERITED, INHERITED.replace(line))
}

/// Whether a rule is running.
pub fn is_inherited() -> bool {
    INHERITED.get().is_some()
}

/// Replaces the inherited line, inside a region guarded by [`inherit`].
#[inline]
pub fn set_inherited(line: Line) {
    INHERITED.set(Some(line));
}

/// Until the guard is dropped, a line inside this library is shown as `line`, unless `line` is inside the library too.
pub fn scope(line: Line) -> Restore {
    let outer = SCOPE.get();
    Restore(&SCOPE, SCOPE.replace(if is_ours(line) { outer } else { Some(line) }))
}

/// The functions that were traced, by the line that called them: programs only know their operations.
static TRACED: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());

/// The function made of other operations that runs, as the user called it: errors are raised in its name.
pub fn function() -> Option<&'static str> {
    FUNCTION.get()
}

/// The function that a traced line called.
pub fn function_at(line: Line) -> Option<&'static str> {
    TRACED.lock().unwrap_or_else(PoisonError::into_inner).get(&line.address()).copied()
}

/// Names the function that the user called, until it is dropped.
pub struct Within(Option<&'static str>);

impl Drop for Within {
    fn drop(&mut self) {
        FUNCTION.set(self.0);
    }
}

/// While the result lives, errors are raised in the name of `function`, unless another one called it; `is_traced` if a program is made.
#[must_use]
#[track_caller]
pub fn within(function: &'static str, is_traced: bool) -> Within {
    let outer = FUNCTION.get();
    if outer.is_none() {
        FUNCTION.set(Some(function));
        if is_traced {
            let line = resolve(Line::caller());
            TRACED.lock().unwrap_or_else(PoisonError::into_inner).insert(line.address(), function);
        }
    }
    Within(outer)
}
