//! Roots of systems of equations, by a damped Newton method.

use super::krylov::{Krylov, Solver};
use super::rule::{DENSE_MOST, Options, solver};
use super::{Map, diverged, expect_numbers, norm};
use crate::error::{OrRaise, catch};
use crate::location::{self, Line};
use crate::methods::*;
use crate::{Error, ErrorKind, Jacobian, Tensor, Tree, linearize};
use std::sync::Arc;

/// How often a step is halved before the method gives up.
const HALVINGS: i32 = 40;

/// Finds x near `x0` with `f(theta, x) = 0`. `f` returns as many equations as x has elements, with the structure of x.
///
/// The derivative with respect to `theta`, in any mode and of any order, follows from the implicit function theorem; the iteration is not
/// recorded. `x0` has no derivative, and tensors that `f` captures are constants. Under `vmap` every element of the batch is solved
/// separately.
///
/// ```
/// use wengert::prelude::*;
/// let square_root = |a: &Tensor| root(|a: &Tensor, x: &Tensor| x * x - a, a, &Tensor::from(1.0));
/// assert!((square_root(&Tensor::from(4.0)).item() - 2.0).abs() < 1e-12);
/// assert!((grad(square_root)(&Tensor::from(4.0)).item() - 0.25).abs() < 1e-12);
/// assert!((grad(grad(square_root))(&Tensor::from(4.0)).item() + 1.0 / 32.0).abs() < 1e-12);
/// ```
#[track_caller]
pub fn root<T, X>(f: impl Fn(&T, &X) -> X + Send + Sync + 'static, theta: &T, x0: &X) -> X
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    Root::new().solve(f, theta, x0)
}

/// Like [`root`], but returns an error if none is found.
///
/// ```
/// use wengert::prelude::*;
/// let error = try_root(|_: &(), x: &Tensor| x * x + 1.0, &(), &Tensor::from(0.5)).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Diverged { .. }));
/// ```
#[track_caller]
pub fn try_root<T, X>(f: impl Fn(&T, &X) -> X + Send + Sync + 'static, theta: &T, x0: &X) -> Result<X, Error>
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    Root::new().try_solve(f, theta, x0)
}

/// Options for finding a [`root`] by Newton's method. Steps are halved until the residual decreases. With up to 100 unknowns the Jacobian
/// is factored; larger systems use Jacobian-vector products only.
///
/// ```
/// use wengert::prelude::*;
/// let cosine = |_: &(), x: &Tensor| x.cos() - x;
/// let x = Root::new().tolerance(1e-12).steps(20).solve(cosine, &(), &Tensor::from(1.0));
/// assert!((x.item() - 0.7390851332151607).abs() < 1e-15);
/// ```
#[derive(Clone, Debug)]
pub struct Root {
    options: Options,
}

solver!(Root, "root", X);

impl Root {
    /// The default options: at most 100 steps.
    pub fn new() -> Root {
        Root { options: Options { tolerance: None, steps: 100, linear: Krylov::gmres() } }
    }

    fn solve_at<T, X>(
        &self,
        f: impl Fn(&T, &X) -> X + Send + Sync + 'static,
        theta: &T,
        x0: &X,
        line: Line,
    ) -> Result<X, Error>
    where
        T: Tree + Send + Sync + 'static,
        X: Tree + Send + Sync + 'static,
    {
        let steps = self.options.steps;
        self.options.solve("root", theta, x0, line, |packing, tolerance| {
            let equation = packing.map(theta, "what the function returned", f);
            let f = equation.clone();
            let find = move |theta: &[Tensor], x: &Tensor| newton_root(&f, theta, x, tolerance, steps);
            (equation, Arc::new(find))
        })
    }
}

/// Convergence is judged by the step, which has the scale of x; the residual has a scale of its own.
fn newton_root(f: &Map, theta: &[Tensor], guess: &Tensor, tolerance: f64, most: usize) -> Result<Tensor, Error> {
    let at = |x: &Tensor| linearize(|x: &Tensor| f(theta, x), x);
    let mut x = guess.clone();
    let (mut residual, mut map) = at(&x);
    expect_numbers("root", &residual)?;
    let mut left = norm(&residual);
    for steps in 0..most {
        if left == 0.0 {
            return Ok(x);
        }
        if !left.is_finite() {
            return Err(diverged("root", steps, left, "the function is not finite at the first guess"));
        }
        let step = newton_step(&map, &residual).map_err(|error| explain(error, steps, left))?;
        let length = norm(&step);
        if length <= tolerance * (1.0 + norm(&x)) {
            return Ok(&x + &step);
        }
        let mut share = 1.0;
        let shrinks = |left_there: f64, share: f64| left_there <= (1.0 - 1e-4 * share) * left;
        let next = loop {
            let there = &x + &step * share;
            let (residual, map) = at(&there);
            let left_there = norm(&residual);
            if shrinks(left_there, share) {
                break (there, residual, map, left_there);
            }
            share /= 2.0;
            if share < 2f64.powi(-HALVINGS) {
                let message = format!("after {steps} steps no further one makes the residual {left:e} smaller");
                return Err(diverged("root", steps, left, message)
                    .help("start elsewhere, or accept a larger tolerance if this is as exact as the function"));
            }
        };
        (x, residual, map, left) = next;
    }
    let message = format!("after {most} steps the residual is still {left:e}");
    Err(diverged("root", most, left, message).help("start nearer, or allow more steps or a larger tolerance"))
}

/// Solves `J step = -residual`.
fn newton_step(map: &Jacobian<Tensor, Tensor>, residual: &Tensor) -> Result<Tensor, Error> {
    let count = residual.elements();
    if count <= DENSE_MOST {
        let step = map.to_dense()?.try_solve(&-residual.reshape([count]))?;
        return Ok(step.reshape(residual.shape()));
    }
    // Far from the root a rough direction suffices; near it, every step reduces the error by a factor of a hundred.
    let rough: Solver = Krylov::gmres().tolerance(1e-4);
    rough.solve("root", map, false, &-residual)
}

fn explain(error: Error, steps: usize, left: f64) -> Error {
    match error.kind() {
        ErrorKind::Singular(_) => {
            let message = format!("the Jacobian is singular after {steps} steps, where the residual is {left:e}");
            Error::new(ErrorKind::Singular(Vec::new()), "root", message)
                .help("start elsewhere; a point where the Jacobian has no inverse gives no direction")
        }
        _ => error,
    }
}
