//! Finds the line that produced the first NaN.

use wengert_engine::{Error, catch};
use wengert_kernels::tape;

/// Runs `f` and checks every number that it records. The first one whose value or partial derivative is NaN or infinite is reported as an
/// error of kind [`Anomaly`](wengert_engine::ErrorKind::Anomaly), with its source line. Any other error that `f` raises is returned too.
///
/// Nothing before that line was NaN or infinite, except possibly an input or a constant. Recordings outside of `checked` pay nothing for
/// it. Only variables on tapes are checked: a [`Replay`](crate::Replay) does not know the lines of its operations, and plain floats are not
/// recorded.
///
/// ```
/// use wengert_engine::ErrorKind;
/// use wengert_scalar::{Real, checked, gradient_of};
/// let run = |x: f64| checked(|| gradient_of(|[x]| (x - 1.0).ln() * 0.0, [x]));
/// assert_eq!(run(3.0).unwrap(), (0.0, [0.0]));
/// let error = run(1.0).unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::Anomaly);
/// assert!(error.line().is_some() && error.message().contains("its value -inf"));
/// ```
pub fn checked<R>(f: impl FnOnce() -> R) -> Result<R, Error> {
    catch(|| tape::checked(f))
}
