//! Minimisation of scalar functions, by Newton's method with conjugate gradients.

use super::krylov::Krylov;
use super::rule::{Options, solver};
use super::{Map, diverged, dot, epsilon, expect_numbers, norm};
use crate::error::{OrRaise, catch};
use crate::fused::CombineMethods;
use crate::location::{self, Line};
use crate::transform::form_of;
use crate::{Error, ErrorKind, LinearMap, Shape, Tensor, Tree, grad, linearize, value_and_grad};
use std::sync::Arc;

/// How often a step may be halved or doubled.
const HALVINGS: i32 = 40;

/// Finds a local minimum of the scalar function `f(theta, x)` near `x0`: a stationary point that is reached by descent. If `x0` is already
/// stationary, it is returned unchanged, even if it is a maximum or a saddle point.
///
/// The derivative with respect to `theta` is that of the equation `df/dx = 0`, in any mode and of any order; the iteration is not recorded.
/// `x0` has no derivative, and tensors that `f` captures are constants. Under `vmap` every element of the batch is solved separately.
///
/// ```
/// use wengert::prelude::*;
/// // The mean is the point with the least squared distances; each of three points moves it by a third.
/// let squares = |points: &Tensor, x: &Tensor| (points - x).square().sum();
/// let mean = |points: &Tensor| argmin(squares, points, &Tensor::from(0.0));
/// let points = Tensor::from([1.0, 2.0, 6.0]);
/// assert!((mean(&points).item() - 3.0).abs() < 1e-12);
/// assert!((grad(mean)(&points) - 1.0 / 3.0).abs().max().item() < 1e-12);
/// ```
#[track_caller]
pub fn argmin<T, X>(f: impl Fn(&T, &X) -> Tensor + Send + Sync + 'static, theta: &T, x0: &X) -> X
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    Argmin::new().solve(f, theta, x0)
}

/// Like [`argmin`], but returns an error if no minimum is found.
///
/// ```
/// use wengert::prelude::*;
/// assert!(try_argmin(|_: &(), x: &Tensor| x.clone(), &(), &Tensor::from(1.0)).is_err());
/// ```
#[track_caller]
pub fn try_argmin<T, X>(f: impl Fn(&T, &X) -> Tensor + Send + Sync + 'static, theta: &T, x0: &X) -> Result<X, Error>
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    Argmin::new().try_solve(f, theta, x0)
}

/// Options for finding a minimum with Newton steps. Each linear system is solved by conjugate gradients, only as precisely as is
/// worthwhile. In a direction of negative curvature, the step follows that direction. Steps are halved until the function decreases.
///
/// ```
/// use wengert::prelude::*;
/// let well = |_: &(), x: &Tensor| (x * x - 1.0).square();
/// let x = Argmin::new().tolerance(1e-12).steps(50).solve(well, &(), &Tensor::from(0.1));
/// assert!((x.item() - 1.0).abs() < 1e-12);
/// ```
#[derive(Clone, Debug)]
pub struct Argmin {
    options: Options,
}

solver!(Argmin, "minimum", Tensor);

impl Argmin {
    /// The default options: at most 200 steps.
    pub fn new() -> Argmin {
        Argmin { options: Options { tolerance: None, steps: 200, linear: Krylov::cg() } }
    }

    fn solve_at<T, X>(
        &self,
        f: impl Fn(&T, &X) -> Tensor + Send + Sync + 'static,
        theta: &T,
        x0: &X,
        line: Line,
    ) -> Result<X, Error>
    where
        T: Tree + Send + Sync + 'static,
        X: Tree + Send + Sync + 'static,
    {
        let steps = self.options.steps;
        self.options.solve("argmin", theta, x0, line, |packing, tolerance| {
            let (form, unknown) = (form_of(theta), packing.again());
            let objective: Map = Arc::new(move |theta: &[Tensor], x: &Tensor| {
                let value = f(&form.rebuild(theta.iter().cloned()), &unknown.unpack(x));
                expect_one(&value).or_raise();
                value
            });
            let slope = objective.clone();
            let equation = move |theta: &[Tensor], x: &Tensor| grad(|x: &Tensor| slope(theta, x))(x);
            let find = move |theta: &[Tensor], x: &Tensor| descend(&objective, theta, x, tolerance, steps);
            (Arc::new(equation), Arc::new(find))
        })
    }
}

fn expect_one(value: &Tensor) -> Result<(), Error> {
    if value.elements() == 1 && value.dtype().is_float() {
        return Ok(());
    }
    let message = format!("the function returned {}, not one real number", value.spec());
    Err(Error::new(ErrorKind::SeedNeeded(Shape::from(value.shape())), "argmin", message)
        .help("reduce the result, for example with .sum()"))
}

fn descend(f: &Map, theta: &[Tensor], guess: &Tensor, tolerance: f64, most: usize) -> Result<Tensor, Error> {
    let value_at = |x: &Tensor| f(theta, x).item();
    let mut x = guess.clone();
    let mut steepest = 0.0f64;
    let mut slope = f64::NAN;
    for steps in 0..most {
        let ((value, gradient), map) = linearize(|x: &Tensor| value_and_grad(|x: &Tensor| f(theta, x))(x), &x);
        expect_numbers("argmin", &gradient)?;
        let value = value.item();
        slope = norm(&gradient);
        if !slope.is_finite() || !value.is_finite() {
            let message = format!("after {steps} steps the function or its gradient is not finite");
            return Err(diverged("argmin", steps, slope, message).help("start elsewhere; is there a minimum?"));
        }
        if slope == 0.0 {
            return Ok(x);
        }
        steepest = steepest.max(slope);
        let direction = Direction::find(&map, &gradient, slope * (slope / steepest).sqrt().min(0.1));
        if !direction.bends_down && norm(&direction.step) <= tolerance * (1.0 + norm(&x)) {
            return Ok(&x + &direction.step);
        }
        // Near the minimum the decrease is lost in rounding errors while the step is still good.
        let (falls, noise) = (dot(&gradient, &direction.step), 10.0 * epsilon(x.dtype()) * value.abs());
        let at = |share: f64| value_at(&(&x + &direction.step * share));
        let enough = |there: f64, share: f64| there <= value + 1e-4 * share * falls + noise;
        let mut share = 1.0;
        while !enough(at(share), share) {
            share /= 2.0;
            if share < 2f64.powi(-HALVINGS) {
                let message = format!("after {steps} steps no further one decreases the function; slope {slope:e}");
                return Err(diverged("argmin", steps, slope, message)
                    .help("accept a larger tolerance if this is as exact as the function, or start elsewhere"));
            }
        }
        // Newton's method gives no step length for negative curvature, so double the step while the function decreases.
        while direction.bends_down && share < 2f64.powi(HALVINGS) && at(2.0 * share) < at(share) {
            share *= 2.0;
        }
        x = &x + &direction.step * share;
    }
    let message = format!("after {most} steps the slope is still {slope:e}");
    Err(diverged("argmin", most, slope, message).help("start nearer, or allow more steps or a larger tolerance"))
}

/// The search direction from a point.
struct Direction {
    step: Tensor,
    /// Whether it is a direction of negative curvature.
    bends_down: bool,
}

impl Direction {
    /// Conjugate gradients for `H step = -gradient` until the residual is at most `target`, or the curvature is not positive.
    fn find(map: &LinearMap<Tensor, (Tensor, Tensor)>, gradient: &Tensor, target: f64) -> Direction {
        let mut step = gradient.full_like(0.0);
        let mut r = -gradient;
        let mut p = r.clone();
        let mut rr = dot(&r, &r);
        for round in 0..(10 * gradient.elements()).max(20) {
            let image = map.apply(&p).1;
            let curvature = dot(&p, &image);
            if curvature <= epsilon(p.dtype()) * norm(&p) * norm(&image) {
                // A step that was begun already goes downhill; otherwise use steepest descent.
                return Direction { step: if round == 0 { p } else { step }, bends_down: true };
            }
            let length = rr / curvature;
            step = step.combine(1.0, &p, length);
            r = r.combine(1.0, &image, -length);
            let next = dot(&r, &r);
            if next.sqrt() <= target {
                break;
            }
            p = r.combine(1.0, &p, next / rr);
            rr = next;
        }
        Direction { step, bends_down: false }
    }
}
