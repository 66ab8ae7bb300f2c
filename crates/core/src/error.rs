//! Errors carry data and say what to do.
//!
//! Programming errors panic, as slices do; [`catch`] turns them into values.

use crate::Shape;
use crate::location::{self, Line};
use std::cell::Cell;
use std::fmt;
use std::panic::AssertUnwindSafe;
use wengert_kernels::DType;
use wengert_kernels::pool::{self, OutOfMemory};

/// What went wrong, as data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that do not fit the operation.
    Shape(Vec<Shape>),
    /// Dtypes that do not fit the operation.
    DType(Vec<DType>),
    /// Numbers were to be borrowed in row-major order that lie otherwise in memory.
    NotContiguous,
    /// An axis, index or range outside the tensor.
    Range,
    /// A parameter that makes no sense.
    Argument,
    /// `backward` of a tensor with several elements and no seed.
    SeedNeeded(Shape),
    /// A gradient was asked of something that carries none.
    NoGradient,
    /// The reverse graph was already used up.
    GraphFreed,
    /// A tensor outlived the transform that made it.
    LevelClosed,
    /// The imperative tape was asked to differentiate a transform's tensor.
    WrongLevel,
    /// A symbolic tensor was asked for its numbers.
    Traced,
    /// A function did something else when it was traced again.
    Retraced,
    /// A NaN or infinity found by anomaly mode.
    Anomaly,
    /// A hook failed or returned something unusable.
    Hook,
    /// Two trees have different structures.
    Tree,
    /// A program's text could not be read or is inconsistent.
    Program,
    /// A file that cannot be read or written, or holds something else.
    File,
    /// A matrix without an inverse, at this index of the batch.
    Singular(Vec<usize>),
    /// A matrix that is not positive definite, at this index of the batch.
    NotPositiveDefinite(Vec<usize>),
    /// An iteration that did not end for the matrix at this index of the batch.
    NotConverged(Vec<usize>),
    /// An iteration that did not reach its tolerance: after so many steps, its residual was still this large.
    Diverged {
        /// How many steps were taken.
        steps: usize,
        /// What was left.
        residual: f64,
    },
    /// An integration that could not go on.
    Integration {
        /// How far it came.
        time: f64,
        /// How many steps were taken.
        steps: usize,
    },
    /// An operation lacks a rule that was asked of it.
    MissingRule,
    /// A plan does not fit into the bytes that it was given.
    Budget {
        /// The least that was found to be enough.
        needed: usize,
        /// What it may need.
        allowed: usize,
    },
    /// More memory was asked for than there is.
    Memory {
        /// The bytes of the request.
        needed: usize,
        /// The bytes that were left, where the system says so.
        available: Option<usize>,
    },
    /// A checkpointed function did something else when it was computed again.
    Checkpoint,
}

/// A failure with its operation, its explanation, the user's line and a suggestion.
///
/// ```
/// use wengert::prelude::*;
/// let error = catch(|| Tensor::ones([2, 3]).matmul(&Tensor::ones([4, 5]))).unwrap_err();
/// assert_eq!(error.operation(), "matmul");
/// assert!(error.to_string().contains("inner dimensions differ"));
/// ```
#[derive(Clone, Debug)]
pub struct Error(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    kind: ErrorKind,
    operation: String,
    message: String,
    help: Option<String>,
    line: Option<Line>,
}

impl Error {
    /// A new error of `operation`, without a line yet.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let error = Error::new(ErrorKind::Argument, "scale", "the factor is NaN").help("pass a finite factor");
    /// assert_eq!(error.to_string(), "scale: the factor is NaN\n  help: pass a finite factor");
    /// ```
    pub fn new(kind: ErrorKind, operation: impl Into<String>, message: impl Into<String>) -> Error {
        Error(Box::new(Details { kind, operation: operation.into(), message: message.into(), help: None, line: None }))
    }

    /// An error of `operation`, which asked for more memory than there is to make `what`.
    #[doc(hidden)]
    #[cold]
    pub fn out_of_memory(operation: impl Into<String>, what: impl fmt::Display, refused: OutOfMemory) -> Error {
        let OutOfMemory { bytes: needed, available, .. } = refused;
        let left = available.map_or_else(String::new, |left| format!(", where {left} are left"));
        let message = format!("{what} needs {needed} bytes of memory{left}");
        Error::new(ErrorKind::Memory { needed, available }, operation, message)
    }

    /// Adds a suggestion.
    pub fn help(mut self, text: impl Into<String>) -> Error {
        self.0.help = Some(text.into());
        self
    }

    /// Adds the suggestion of another error, if it has one.
    #[doc(hidden)]
    pub fn help_of(self, other: &Error) -> Error {
        other.suggestion().into_iter().fold(self, Error::help)
    }

    /// Adds to what went wrong.
    #[doc(hidden)]
    pub fn and(mut self, text: &str) -> Error {
        self.0.message.push_str(text);
        self
    }

    /// Sets the line, unless a nearer one is known already; a line of ours is replaced by the nearest of the user's.
    ///
    /// ```
    /// use wengert::Line;
    /// use wengert::prelude::*;
    /// let error = Error::new(ErrorKind::Argument, "formula", "'w' is not defined").at(Line::new("model.txt", 3, 14));
    /// assert_eq!(error.to_string(), "formula: 'w' is not defined\n  at model.txt:3:14");
    /// ```
    pub fn at(mut self, line: impl Into<Line>) -> Error {
        self.0.line.get_or_insert_with(|| location::shown(line.into()));
        self
    }

    /// With the line of a program's operation, in the name of the function that was called there.
    #[doc(hidden)]
    pub fn of_program(mut self, line: Line) -> Error {
        if let Some(function) = location::function_at(line) {
            self.0.operation = function.into();
        }
        self.at(line)
    }

    /// What went wrong, as data.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The operation that failed.
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// What went wrong, in words, without operation, line and suggestion.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    pub fn suggestion(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The user's line, if it is known.
    pub fn line(&self) -> Option<Line> {
        self.0.line
    }

    /// Panics with this error; inside [`catch`], silently returns it there.
    #[track_caller]
    pub fn raise(mut self) -> ! {
        if let Some(function) = location::function() {
            self.0.operation = function.into();
        }
        let error = self.at(location::resolve(Line::caller()));
        if CATCHING.get() > 0 {
            std::panic::resume_unwind(Box::new(error));
        }
        panic!("{error}");
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.operation, self.0.message)?;
        if let Some(line) = self.line() {
            write!(f, "\n  at {line}")?;
        }
        if let Some(help) = &self.0.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Unwraps a result into a value or a panic at the caller's line.
pub trait OrRaise<T> {
    #[track_caller]
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T, Error> {
    #[inline]
    #[track_caller]
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => error.raise(),
        }
    }
}

thread_local! {
    static CATCHING: Cell<usize> = const { Cell::new(0) };
}

/// Runs `f` and returns a programming error as a value instead of a panic, leaving the panic hook silent.
///
/// A panic that is not a Wengert [`Error`] passes through, unless it says that memory ran out.
///
/// ```
/// use wengert::prelude::*;
/// let sum = catch(|| Tensor::from([1.0, 2.0]) + Tensor::from([1.0, 2.0, 3.0]));
/// assert!(matches!(sum.unwrap_err().kind(), ErrorKind::Shape(_)));
/// ```
#[track_caller]
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Error> {
    struct Depth;
    impl Drop for Depth {
        fn drop(&mut self) {
            CATCHING.set(CATCHING.get() - 1);
        }
    }
    CATCHING.set(CATCHING.get() + 1);
    let _depth = Depth;
    match std::panic::catch_unwind(AssertUnwindSafe(|| pool::attempt(f))) {
        Ok(Ok(value)) => Ok(value),
        // Between operations nobody knows more than the bytes.
        Ok(Err(refused)) => Err(Error::out_of_memory("allocate", "a tensor", refused).at(Line::caller())),
        Err(payload) => match payload.downcast::<Error>() {
            Ok(error) => Err(*error),
            Err(other) => std::panic::resume_unwind(other),
        },
    }
}
