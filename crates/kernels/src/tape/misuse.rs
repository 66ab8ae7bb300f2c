//! Errors in statements, and how they are reported.

use super::Failure;
use std::fmt;
use std::panic::Location;

/// Why a statement cannot be recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Misuse {
    /// A place belongs to a recording (or a part of one) that has ended, or to another thread.
    Ended,
    /// A place belongs to an enclosing recording.
    Outer,
    /// A recording is used while another one runs inside it.
    Inside,
    /// A position belongs to a recording (or a part of one) that has ended, or to another recording.
    Position,
    /// There are more statements than a recording can number.
    Full,
    /// The thread is ending, and its tape was destroyed before the thread-local whose destructor records.
    Destroyed,
    /// A value, or a partial derivative, is not finite; only [if that is checked](super::checked).
    NotFinite {
        /// The value.
        value: f64,
        /// The first such partial derivative.
        partial: Option<f64>,
    },
    /// A recording within a limit cannot begin or go on.
    Limit(Box<Failure>),
}

impl From<Failure> for Misuse {
    fn from(failure: Failure) -> Misuse {
        Misuse::Limit(Box::new(failure))
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misuse::Limit(failure) => return failure.fmt(f),
            Misuse::NotFinite { value, partial: None } => return write!(f, "the value of a number is {value}"),
            Misuse::NotFinite { value, partial: Some(partial) } => {
                return write!(f, "the slope of a number is {partial}, its value {value}");
            }
            Misuse::Ended => {
                "a number is used whose recording, or part of it, has ended, or that belongs to another thread"
            }
            Misuse::Outer => "a number of the recording around this one is used inside it",
            Misuse::Inside => "a tape is used while another recording runs inside of its own",
            Misuse::Position => {
                "a position is used whose recording, or part of it, has ended, or that belongs to another"
            }
            Misuse::Full => "a recording has at most 4294967294 statements",
            Misuse::Destroyed => "something is recorded on a thread that is ending, whose tape was destroyed before",
        })
    }
}

/// Called with the error and the caller's line; it does not return.
pub type OnMisuse = fn(Misuse, &'static Location<'static>) -> !;

/// The function to call, and the line of the caller.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    call: OnMisuse,
    line: &'static Location<'static>,
}

impl Stop {
    #[inline(always)]
    #[track_caller]
    pub(super) fn here(call: OnMisuse) -> Stop {
        Stop::at(call, Location::caller())
    }

    #[inline(always)]
    pub(super) fn at(call: OnMisuse, line: &'static Location<'static>) -> Stop {
        Stop { call, line }
    }

    pub(super) fn with(self, misuse: Misuse) -> ! {
        (self.call)(misuse, self.line)
    }
}
