//! Numbers defined by an equation or an integral: linear systems, roots, fixed points, quadrature.
//!
//! Solutions are found with plain numbers and differentiated by the implicit function theorem. If F(x, p) = 0, one Newton step from the
//! solution, with numbers that carry derivatives, yields the derivatives of the solution. The iterations that found it are not recorded.
//! While a [`Replay`](crate::Replay) is recorded there are no plain numbers, so the iterations are recorded with guards.

mod bracket;
mod fixed_point;
mod integrate;
mod linear;
mod lu;
mod root;

pub use bracket::{root_in, try_root_in};
pub use fixed_point::{fixed_point, try_fixed_point};
pub use integrate::{integrate, try_integrate};
pub use linear::{linear_solve, try_linear_solve};
pub use root::{root, try_root};

use crate::{Dual, Real};
use lu::Lu;
use wengert_engine::{Error, ErrorKind};

/// Equations for several unknowns, which may depend on parameters. A solver evaluates them with different kinds of numbers. Plain numbers
/// in `self` are constants; pass everything that derivatives are taken with respect to as a parameter.
///
/// ```
/// use wengert_scalar::{Equations, Real, gradient_of, root};
///
/// /// Where a circle meets the hyperbola xy = 1.
/// struct Meeting;
/// impl Equations for Meeting {
///     fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
///         vec![x[0] * x[0] + x[1] * x[1] - p[0], x[0] * x[1] - T::lit(1.0)]
///     }
/// }
///
/// let (x, [slope]) = gradient_of(|[square]| root(&Meeting, &[2.0, 0.5], &[square])[0], [4.0]);
/// let exact = (2.0 + 3f64.sqrt()).sqrt();
/// assert!((x - exact).abs() < 1e-14);
/// assert!((slope - x * x / (2.0 * x * (x * x - 1.0 / (x * x)))).abs() < 1e-14);
/// ```
pub trait Equations {
    /// The residual, which is zero at a [`root`]. At a [`fixed_point`] it equals x.
    fn at<T: Real>(&self, x: &[T], parameters: &[T]) -> Vec<T>;
}

/// One equation for one unknown.
///
/// ```
/// use wengert_scalar::{Equation, Real, root_in};
///
/// struct Power;
/// impl Equation for Power {
///     fn at<T: Real>(&self, x: T, p: &[T]) -> T {
///         x.powf(p[0]) - p[1]
///     }
/// }
/// assert_eq!(root_in(&Power, [0.0, 10.0], &[3.0, 64.0]), 4.0);
/// ```
pub trait Equation {
    /// The residual, which is zero at the root.
    fn at<T: Real>(&self, x: T, parameters: &[T]) -> T;
}

/// A method to solve equations.
trait Search {
    const NAME: &'static str;

    /// The residual, which is zero at the solution.
    fn residual<T: Real>(&self, x: &[T], parameters: &[T]) -> Vec<T>;

    /// The solution, found by any iteration; its derivatives do not matter.
    fn find<T: Real>(&self, parameters: &[T]) -> Result<Vec<T>, Error>;
}

/// The solution with its derivatives.
fn solved<S: Search, T: Real>(search: &S, parameters: &[T]) -> Result<Vec<T>, Error> {
    let numbers = plain(parameters);
    if let (Some(numbers), true) = (&numbers, parameters.iter().all(|parameter| parameter.is_constant())) {
        return Ok(literal(&search.find(numbers)?));
    }
    let (x, jacobian) = match numbers {
        Some(numbers) => {
            let (x, jacobian) = with_jacobian(search, &numbers)?;
            (literal(&x), jacobian.literal())
        }
        None => with_jacobian(search, parameters)?,
    };
    Ok(with_slopes(&jacobian, x, |x| search.residual(x, parameters)))
}

/// The solution, and the LU factors of the Jacobian there.
fn with_jacobian<S: Search, T: Real>(search: &S, parameters: &[T]) -> Result<(Vec<T>, Lu<T>), Error> {
    let x = search.find(parameters)?;
    let Some(jacobian) = Lu::new(values_and_slopes(search, &x, parameters).1, x.len()) else {
        let message = "the Jacobian is singular at the solution, which has no derivative there";
        return Err(Error::new(ErrorKind::Singular(Vec::new()), S::NAME, message)
            .help("solve with plain numbers, or for other equations with the same solution"));
    };
    Ok((x, jacobian))
}

/// Adds derivatives to a solution: x - J^-1 F(x), with the Jacobian as a constant, is correct to one order of derivatives more than x.
fn with_slopes<T: Real>(jacobian: &Lu<T>, mut x: Vec<T>, residual: impl Fn(&[T]) -> Vec<T>) -> Vec<T> {
    for _ in 0..T::ORDER {
        let step = jacobian.solve(&residual(&x));
        x.iter_mut().zip(step).for_each(|(x, step)| *x -= step);
    }
    x
}

/// Columns of a Jacobian that are computed at once.
const COLUMNS: usize = 4;

/// The residual and its Jacobian with respect to the unknowns, row by row.
fn values_and_slopes<T: Real>(search: &impl Search, x: &[T], parameters: &[T]) -> (Vec<T>, Vec<T>) {
    let n = x.len();
    let parameters: Vec<Dual<T, COLUMNS>> = parameters.iter().map(|parameter| Dual::from(*parameter)).collect();
    let (mut values, mut slopes) = (Vec::new(), vec![T::lit(0.0); n * n]);
    for first in (0..n).step_by(COLUMNS) {
        let seeded = |(place, x): (usize, &T)| {
            let tangent = |column: usize| T::lit(if place == first + column { 1.0 } else { 0.0 });
            Dual::new(*x, std::array::from_fn(tangent))
        };
        let x: Vec<Dual<T, COLUMNS>> = x.iter().enumerate().map(seeded).collect();
        let rows = search.residual(&x, &parameters);
        for (row, y) in rows.iter().enumerate() {
            let count = COLUMNS.min(n - first);
            slopes[row * n + first..][..count].copy_from_slice(&y.tangents()[..count]);
        }
        values = rows.iter().map(Dual::value).collect();
    }
    (values, slopes)
}

/// The values of all numbers, if reading them needs no guard in a recording.
fn plain<T: Real>(x: &[T]) -> Option<Vec<f64>> {
    x.iter().map(|x| x.plain()).collect()
}

fn literal<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|x| T::lit(*x)).collect()
}

/// The largest absolute value, or NaN if one is NaN. No squares are formed that could overflow.
fn largest<T: Real>(x: &[T]) -> T {
    x.iter().fold(T::lit(0.0), |largest, x| largest.max(x.abs()))
}

fn is_finite<T: Real>(x: T) -> bool {
    x.abs() < T::lit(f64::INFINITY)
}

fn diverged(name: &str, steps: usize, residual: impl Real, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Diverged { steps, residual: residual.to_f64() }, name, message)
}
