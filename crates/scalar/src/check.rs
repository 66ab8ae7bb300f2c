//! Where a NaN comes from.

use wengert_engine::{Error, catch};
use wengert_kernels::tape;

/// Runs `f` and looks at every number that it records: the first whose value, or slope by what it depends on, is NaN or infinite is an
/// error of kind [`Anomaly`](wengert_engine::ErrorKind::Anomaly) with its line. Everything else that `f` raises is an error too.
///
/// Nothing before that line was infinite, unless it was an input or a constant. Where nothing is looked at, that costs nothing.
/// Looked at are variables of tapes: a [`Replay`](crate::Replay) has no lines of its operations, and plain numbers have nobody to look.
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
