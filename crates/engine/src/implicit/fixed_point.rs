//! Fixed points, by iteration.

use super::krylov::Krylov;
use super::rule::{Options, solver};
use super::{Map, diverged, expect_numbers, norm};
use crate::error::{OrRaise, catch};
use crate::location::{self, Line};
use crate::methods::*;
use crate::{Error, Tensor, Tree};
use std::collections::VecDeque;
use std::sync::Arc;

/// The limit of `x0, g(theta, x0), ..`: the x with `x = g(theta, x)`.
///
/// The derivative with respect to `theta` is that of the equation, `dx = (I - dg/dx)^-1 (dg/dtheta) dtheta`, in any mode and of any order;
/// the iteration is not recorded. `x0` has no derivative, and tensors that `g` captures are constants. Under `vmap` every element of the
/// batch is solved separately.
///
/// ```
/// use wengert::prelude::*;
/// let babylonian = |a: &Tensor, x: &Tensor| (x + a / x) / 2.0;
/// let square_root = |a: &Tensor| fixed_point(babylonian, a, &Tensor::from(1.0));
/// assert!((square_root(&Tensor::from(4.0)).item() - 2.0).abs() < 1e-12);
/// assert!((grad(square_root)(&Tensor::from(4.0)).item() - 0.25).abs() < 1e-12);
/// ```
#[track_caller]
pub fn fixed_point<T, X>(g: impl Fn(&T, &X) -> X + Send + Sync + 'static, theta: &T, x0: &X) -> X
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    FixedPoint::new().solve(g, theta, x0)
}

/// Like [`fixed_point`], but returns an error if the iteration does not converge.
///
/// ```
/// use wengert::prelude::*;
/// let error = try_fixed_point(|_: &(), x: &Tensor| x * 2.0, &(), &Tensor::from(1.0)).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Diverged { .. }));
/// ```
#[track_caller]
pub fn try_fixed_point<T, X>(g: impl Fn(&T, &X) -> X + Send + Sync + 'static, theta: &T, x0: &X) -> Result<X, Error>
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    FixedPoint::new().try_solve(g, theta, x0)
}

/// Options for finding a [`fixed_point`].
///
/// ```
/// use wengert::prelude::*;
/// let x = FixedPoint::new().anderson(3).solve(|_: &(), x: &Tensor| x.cos(), &(), &Tensor::from(1.0));
/// assert!((x.item() - 0.7390851332151607).abs() < 1e-9);
/// ```
#[derive(Clone, Debug)]
pub struct FixedPoint {
    options: Options,
    memory: usize,
}

solver!(FixedPoint, "fixed point", X);

impl FixedPoint {
    /// The default options: plain iteration, at most 10000 steps.
    pub fn new() -> FixedPoint {
        FixedPoint { options: Options { tolerance: None, steps: 10_000, linear: Krylov::gmres() }, memory: 0 }
    }

    /// Uses Anderson acceleration, which combines the last `memory` iterates.
    pub fn anderson(mut self, memory: usize) -> FixedPoint {
        self.memory = memory;
        self
    }

    fn solve_at<T, X>(
        &self,
        g: impl Fn(&T, &X) -> X + Send + Sync + 'static,
        theta: &T,
        x0: &X,
        line: Line,
    ) -> Result<X, Error>
    where
        T: Tree + Send + Sync + 'static,
        X: Tree + Send + Sync + 'static,
    {
        let (steps, memory) = (self.options.steps, self.memory);
        self.options.solve("fixed_point", theta, x0, line, |packing, tolerance| {
            let image = packing.map(theta, "what the function returned", g);
            let g = image.clone();
            let equation = move |theta: &[Tensor], x: &Tensor| g(theta, x) - x;
            let find = move |theta: &[Tensor], x: &Tensor| iterate(&image, theta, x, tolerance, steps, memory);
            (Arc::new(equation), Arc::new(find))
        })
    }
}

fn iterate(
    g: &Map,
    theta: &[Tensor],
    guess: &Tensor,
    tolerance: f64,
    most: usize,
    memory: usize,
) -> Result<Tensor, Error> {
    let mut x = guess.clone();
    let mut left = f64::NAN;
    // Images and residuals, newest last.
    let mut history: VecDeque<(Tensor, Tensor)> = VecDeque::new();
    for steps in 0..most {
        let image = g(theta, &x);
        expect_numbers("fixed_point", &image)?;
        let change = &image - &x;
        left = norm(&change);
        if !left.is_finite() {
            return Err(diverged("fixed_point", steps, left, format!("after {steps} steps the values are not finite"))
                .help("the function is no contraction here; start nearer, or use root"));
        }
        if left <= tolerance * (1.0 + norm(&image)) {
            return Ok(image);
        }
        history.push_back((image, change));
        if history.len() > memory + 1 {
            history.pop_front();
        }
        x = mixed(&history);
    }
    let message = format!("after {most} steps a further one still changes x by {left:e}");
    Err(diverged("fixed_point", most, left, message).help("allow more steps, or accelerate with FixedPoint::anderson"))
}

/// The newest image minus the combination of earlier differences that best explains the newest residual.
fn mixed(history: &VecDeque<(Tensor, Tensor)>) -> Tensor {
    let (image, change) = history.back().expect("there is an image");
    if history.len() == 1 {
        return image.clone();
    }
    let differences = |part: fn(&(Tensor, Tensor)) -> &Tensor| {
        let pairs = history.iter().zip(history.iter().skip(1));
        Tensor::stack(&pairs.map(|(old, new)| (part(new) - part(old)).flatten()).collect::<Vec<_>>(), 1)
    };
    let (images, changes) = (differences(|entry| &entry.0), differences(|entry| &entry.1));
    let shares = changes.pinv().matmul(&change.flatten());
    image - images.matmul(&shares).reshape(image.shape())
}
