//! Roots of systems of equations, by a damped Newton method.

use super::lu::Lu;
use super::{Equations, Search, diverged, is_finite, largest, literal, solved, values_and_slopes};
use crate::Real;
use crate::expect::raise;
use std::panic::Location;
use wengert_engine::{Error, ErrorKind};

/// The tolerance of the last step relative to 1 + |x|, and the maximum number of steps.
const TOLERANCE: f64 = 1e-10;
const STEPS: usize = 100;

/// The smallest fraction of a Newton step that is tried.
const LEAST_SHARE: f64 = 1e-12;

/// The root of [`Equations`] near `start`, by Newton's method. There must be as many equations as unknowns. Derivatives with respect to the
/// parameters follow from the implicit function theorem; `start` has none, and the iteration is not recorded.
///
/// ```
/// use wengert_scalar::{Equations, Real, gradient_of, root};
///
/// struct Kepler;
/// impl Equations for Kepler {
///     fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
///         vec![x[0] - p[1] * x[0].sin() - p[0]]
///     }
/// }
///
/// let (anomaly, slopes) = gradient_of(|[mean, eccentricity]| root(&Kepler, &[1.0], &[mean, eccentricity])[0], [1.0, 0.5]);
/// let over = 1.0 - 0.5 * anomaly.cos();
/// assert!((slopes[0] - 1.0 / over).abs() < 1e-14 && (slopes[1] - anomaly.sin() / over).abs() < 1e-14);
/// ```
#[track_caller]
pub fn root<T: Real>(equations: &impl Equations, start: &[f64], parameters: &[T]) -> Vec<T> {
    match try_root(equations, start, parameters) {
        Ok(x) => x,
        Err(error) => error.raise(),
    }
}

/// Like [`root`], but returns an error if none is found.
///
/// ```
/// use wengert_engine::ErrorKind;
/// use wengert_scalar::{Equations, Real, try_root};
///
/// struct Never;
/// impl Equations for Never {
///     fn at<T: Real>(&self, x: &[T], _: &[T]) -> Vec<T> {
///         vec![x[0] * x[0] + T::lit(1.0)]
///     }
/// }
/// let error = try_root::<f64>(&Never, &[0.5], &[]).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Diverged { .. }));
/// ```
#[track_caller]
pub fn try_root<T: Real>(equations: &impl Equations, start: &[f64], parameters: &[T]) -> Result<Vec<T>, Error> {
    let line = Location::caller();
    solved(&Newton { equations, start, line }, parameters).map_err(|error| error.at(line))
}

struct Newton<'s, E> {
    equations: &'s E,
    start: &'s [f64],
    line: &'static Location<'static>,
}

impl<E: Equations> Search for Newton<'_, E> {
    const NAME: &'static str = "root";

    fn residual<T: Real>(&self, x: &[T], parameters: &[T]) -> Vec<T> {
        let residual = self.equations.at(x, parameters);
        match residual.len() == x.len() {
            true => residual,
            false => raise(Self::NAME, format!("{} equations for {} unknowns", residual.len(), x.len()), self.line),
        }
    }

    /// Convergence is judged by the step, which has the scale of x; the residual has a scale of its own.
    fn find<T: Real>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        let mut x: Vec<T> = literal(self.start);
        let mut left = largest(&self.residual(&x, parameters));
        for steps in 0..STEPS {
            if left == T::lit(0.0) {
                return Ok(x);
            }
            if !is_finite(left) {
                return Err(diverged("root", steps, left, "the equations are not finite at the start"));
            }
            let (residual, slopes) = values_and_slopes(self, &x, parameters);
            let Some(jacobian) = Lu::new(slopes, x.len()) else {
                let message = format!("the Jacobian is singular after {steps} steps, where the residual is {left}");
                return Err(Error::new(ErrorKind::Singular(Vec::new()), "root", message)
                    .help("start elsewhere; a point where the Jacobian has no inverse gives no direction"));
            };
            let step = jacobian.solve(&residual);
            let moved =
                |share: f64| -> Vec<T> { x.iter().zip(&step).map(|(x, step)| *x - *step * T::lit(share)).collect() };
            if largest(&step) <= T::lit(TOLERANCE) * (T::lit(1.0) + largest(&x)) {
                return Ok(moved(1.0));
            }
            let mut share = 1.0;
            let (there, left_there) = loop {
                let there = moved(share);
                let left_there = largest(&self.residual(&there, parameters));
                if left_there <= T::lit(1.0 - 1e-4 * share) * left {
                    break (there, left_there);
                }
                share /= 2.0;
                if share < LEAST_SHARE {
                    let message = format!("after {steps} steps no further one makes the residual {left} smaller");
                    return Err(diverged("root", steps, left, message).help("start elsewhere"));
                }
            };
            (x, left) = (there, left_there);
        }
        let message = format!("after {STEPS} steps the residual is still {left}");
        Err(diverged("root", STEPS, left, message).help("start nearer"))
    }
}
