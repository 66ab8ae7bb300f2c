//! Checks that arguments match.

use std::panic::Location;
use wengert_engine::{Error, ErrorKind};

/// Raises an error with the caller's line unless the condition holds.
#[inline(always)]
#[track_caller]
pub(crate) fn expect(holds: bool, operation: &str, message: impl FnOnce() -> String) {
    if !holds {
        raise(operation, message(), Location::caller());
    }
}

/// Checks that both vectors have the same length.
#[inline(always)]
#[track_caller]
pub(crate) fn same_length<T>(operation: &str, x: &[T], y: &[T]) {
    let counts = (x.len(), y.len());
    expect(counts.0 == counts.1, operation, || format!("vectors of {} and {} numbers", counts.0, counts.1));
}

#[cold]
#[inline(never)]
pub(crate) fn raise(operation: &str, message: String, line: &'static Location<'static>) -> ! {
    Error::new(ErrorKind::Argument, operation, message).at(line).raise()
}
