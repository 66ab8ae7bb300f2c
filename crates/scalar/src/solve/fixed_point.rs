//! Fixed points, by iteration.

use super::{Equations, Search, diverged, is_finite, largest, literal, solved};
use crate::Real;
use crate::expect::raise;
use std::panic::Location;
use wengert_engine::Error;

/// The tolerance of the last step relative to 1 + |x|, and the maximum number of steps.
const TOLERANCE: f64 = 1e-12;
const STEPS: usize = 10_000;

/// The limit x of `start`, f(start), f(f(start)).., which satisfies x = f(x). Derivatives with respect to the parameters follow from this
/// equation by the implicit function theorem; `start` has none, and the iteration is not recorded.
///
/// ```
/// use wengert_scalar::{Equations, Real, fixed_point, gradient_of};
///
/// struct Babylonian;
/// impl Equations for Babylonian {
///     fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
///         vec![(x[0] + p[0] / x[0]) * T::lit(0.5)]
///     }
/// }
///
/// assert_eq!(gradient_of(|[a]| fixed_point(&Babylonian, &[1.0], &[a])[0], [4.0]), (2.0, [0.25]));
/// ```
#[track_caller]
pub fn fixed_point<T: Real>(f: &impl Equations, start: &[f64], parameters: &[T]) -> Vec<T> {
    match try_fixed_point(f, start, parameters) {
        Ok(x) => x,
        Err(error) => error.raise(),
    }
}

/// Like [`fixed_point`], but returns an error if the iteration does not converge.
///
/// ```
/// use wengert_engine::ErrorKind;
/// use wengert_scalar::{Equations, Real, try_fixed_point};
///
/// struct Growth;
/// impl Equations for Growth {
///     fn at<T: Real>(&self, x: &[T], p: &[T]) -> Vec<T> {
///         vec![x[0] * p[0]]
///     }
/// }
/// let error = try_fixed_point(&Growth, &[1.0], &[2.0]).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Diverged { .. }));
/// ```
#[track_caller]
pub fn try_fixed_point<T: Real>(f: &impl Equations, start: &[f64], parameters: &[T]) -> Result<Vec<T>, Error> {
    let line = Location::caller();
    solved(&Iteration { f, start, line }, parameters).map_err(|error| error.at(line))
}

struct Iteration<'s, E> {
    f: &'s E,
    start: &'s [f64],
    line: &'static Location<'static>,
}

impl<E: Equations> Iteration<'_, E> {
    fn image<T: Real>(&self, x: &[T], parameters: &[T]) -> Vec<T> {
        let image = self.f.at(x, parameters);
        match image.len() == x.len() {
            true => image,
            false => raise(Self::NAME, format!("{} numbers follow {}", image.len(), x.len()), self.line),
        }
    }
}

impl<E: Equations> Search for Iteration<'_, E> {
    const NAME: &'static str = "fixed_point";

    fn residual<T: Real>(&self, x: &[T], parameters: &[T]) -> Vec<T> {
        x.iter().zip(self.image(x, parameters)).map(|(x, image)| *x - image).collect()
    }

    fn find<T: Real>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        let mut x: Vec<T> = literal(self.start);
        let mut left = T::lit(f64::NAN);
        for steps in 0..STEPS {
            let image = self.image(&x, parameters);
            let change: Vec<T> = image.iter().zip(&x).map(|(image, x)| *image - *x).collect();
            left = largest(&change);
            if !is_finite(left) {
                return Err(diverged(
                    Self::NAME,
                    steps,
                    left,
                    format!("after {steps} steps the numbers are not finite"),
                )
                .help("the function is no contraction here: start nearer, or use root"));
            }
            if left <= T::lit(TOLERANCE) * (T::lit(1.0) + largest(&image)) {
                return Ok(image);
            }
            x = image;
        }
        let message = format!("after {STEPS} steps a further one still changes x by {left}");
        Err(diverged(Self::NAME, STEPS, left, message).help("start nearer, or use root"))
    }
}
