//! Errors carry data and suggest a fix.
//!
//! Programming errors panic, as slices do; [`catch`] turns them into values.

use crate::Shape;
use crate::location::{self, Line};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::AssertUnwindSafe;
use wengert_kernels::DType;
use wengert_kernels::pool::{self, Excess, OutOfMemory};

/// The kind of an error, as data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that do not fit the operation.
    Shape(Vec<Shape>),
    /// Dtypes that do not fit the operation.
    DType(Vec<DType>),
    /// Elements were to be borrowed in row-major order, but lie in another order in memory.
    NotContiguous,
    /// An axis, index or range outside the tensor.
    Range,
    /// An invalid parameter.
    Argument,
    /// `backward` of a tensor with several elements and no seed.
    SeedNeeded(Shape),
    /// A gradient was requested of something that carries none.
    NoGradient,
    /// The reverse graph was already freed.
    GraphFreed,
    /// A tensor outlived the transform that made it.
    LevelClosed,
    /// The imperative tape was asked to differentiate a tensor of a transform.
    WrongLevel,
    /// The values of a symbolic tensor were requested.
    Traced,
    /// A function behaved differently when it was traced again.
    Retraced,
    /// A NaN or infinity found by anomaly mode.
    Anomaly,
    /// A hook failed or returned something unusable.
    Hook,
    /// Two trees have different structures.
    Tree,
    /// A program's text could not be read or is inconsistent.
    Program,
    /// A file cannot be read or written, or has other contents.
    File,
    /// A singular matrix, at this index of the batch.
    Singular(Vec<usize>),
    /// A matrix that is not positive definite, at this index of the batch.
    NotPositiveDefinite(Vec<usize>),
    /// An iteration that did not converge for the matrix at this index of the batch.
    NotConverged(Vec<usize>),
    /// An iteration that did not reach its tolerance: its residual after the last step.
    Diverged {
        /// The number of steps taken.
        steps: usize,
        /// The remaining residual.
        residual: f64,
    },
    /// An integration that could not continue.
    Integration {
        /// The time it reached.
        time: f64,
        /// The number of steps taken.
        steps: usize,
    },
    /// An operation lacks a rule that was requested.
    MissingRule,
    /// A plan, or eager code, does not fit into its memory budget.
    Budget {
        /// The smallest budget found to be enough, in bytes.
        needed: usize,
        /// The given budget, in bytes.
        allowed: usize,
    },
    /// An allocation was refused.
    Memory {
        /// The size of the request, in bytes.
        needed: usize,
        /// The bytes that were available, if the system reports it.
        available: Option<usize>,
    },
    /// A checkpointed function behaved differently when it was rerun.
    Checkpoint,
    /// A device is missing, failed, or cannot do what was asked.
    Device,
}

/// A failure with its operation, an explanation, the line of user code and a suggestion.
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

    /// The error of an `operation` that ran out of memory while making `what`.
    #[doc(hidden)]
    #[cold]
    pub fn out_of_memory(operation: impl Into<String>, what: impl fmt::Display, refused: OutOfMemory) -> Error {
        let OutOfMemory { bytes: needed, available, .. } = refused;
        if let Some(Excess { limit, least }) = refused.excess {
            let left = available.unwrap_or_default();
            let message = format!("{what} needs {needed} bytes, and {left} of the budget of {limit} are left");
            let help = format!(
                "nothing else can be dropped: the smallest feasible budget is {least} bytes up to here; memory::smallest_budget(..) says it \
                 for the whole code"
            );
            return Error::new(ErrorKind::Budget { needed: least, allowed: limit }, operation, message).help(help);
        }
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

    /// The same error of an operation with another name, for code that calls the operation on behalf of the user.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let error = Error::new(ErrorKind::Argument, "scale", "the factor is NaN").renamed(|name| format!("layer 2, {name}"));
    /// assert_eq!(error.to_string(), "layer 2, scale: the factor is NaN");
    /// ```
    pub fn renamed(mut self, name: impl FnOnce(&str) -> String) -> Error {
        self.0.operation = name(&self.0.operation);
        self
    }

    /// Appends to the message.
    #[doc(hidden)]
    pub fn and(mut self, text: &str) -> Error {
        self.0.message.push_str(text);
        self
    }

    /// Sets the line, unless a nearer one is already known; a line inside this library is replaced by the nearest line of user code.
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

    /// The kind of the error, as data.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The operation that failed.
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// The message, without operation, line and suggestion.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The suggested fix.
    pub fn suggestion(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The line of user code, if it is known.
    pub fn line(&self) -> Option<Line> {
        self.0.line
    }

    /// Panics with this error; inside [`catch`], returns it there silently.
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

/// A result whose error has the caller's line.
#[track_caller]
pub(crate) fn at_caller<T>(result: Result<T, Error>) -> Result<T, Error> {
    let line = location::resolve(Line::caller());
    result.map_err(|error| error.at(line))
}

/// Unwraps a result, or panics at the caller's line.
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

/// Runs `f`. An error that it raises is replaced by what `change` makes of it.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::primitive::change_errors;
/// let rename = |error: Error| error.renamed(|name| format!("layer 2, {name}"));
/// let error = catch(|| change_errors(|| Tensor::ones([2, 3]).matmul(&Tensor::ones([4, 5])), rename)).unwrap_err();
/// assert_eq!(error.operation(), "layer 2, matmul");
/// ```
#[inline]
pub fn change_errors<R>(f: impl FnOnce() -> R, change: impl FnOnce(Error) -> Error) -> R {
    let outcome = {
        let _caught = Caught::begin();
        std::panic::catch_unwind(AssertUnwindSafe(f))
    };
    match outcome {
        Ok(result) => result,
        Err(payload) => change(error_in(payload)).raise(),
    }
}

/// The error that a panic carries; another panic goes on.
#[cold]
fn error_in(payload: Box<dyn Any + Send>) -> Error {
    *payload.downcast::<Error>().unwrap_or_else(|other| std::panic::resume_unwind(other))
}

thread_local! {
    static CATCHING: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, errors are raised without the panic hook, because they are caught.
struct Caught;

impl Caught {
    #[inline]
    fn begin() -> Caught {
        CATCHING.set(CATCHING.get() + 1);
        Caught
    }
}

impl Drop for Caught {
    #[inline]
    fn drop(&mut self) {
        CATCHING.set(CATCHING.get() - 1);
    }
}

/// Runs `f` and returns a programming error as a value instead of a panic, without running the panic hook.
///
/// A panic that is not a Wengert [`Error`] passes through, unless it reports an out-of-memory condition.
///
/// ```
/// use wengert::prelude::*;
/// let sum = catch(|| Tensor::from([1.0, 2.0]) + Tensor::from([1.0, 2.0, 3.0]));
/// assert!(matches!(sum.unwrap_err().kind(), ErrorKind::Shape(_)));
/// ```
#[track_caller]
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Error> {
    let _caught = Caught::begin();
    match std::panic::catch_unwind(AssertUnwindSafe(|| pool::attempt(f))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(refused)) => Err(refused_at(Line::caller(), refused)),
        Err(payload) => Err(error_in(payload)),
    }
}

/// Outside of an operation, only the number of bytes is known.
#[cold]
fn refused_at(line: Line, refused: OutOfMemory) -> Error {
    Error::out_of_memory("allocate", "a tensor", refused).at(line)
}
