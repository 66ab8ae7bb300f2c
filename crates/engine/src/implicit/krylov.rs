//! Matrix-free linear solvers: conjugate gradients and GMRES.

use super::packing::Packing;
use super::{diverged, dot, epsilon, expect_numbers, norm, usual_tolerance};
use crate::error::OrRaise;
use crate::fused::CombineMethods;
use crate::{Error, ErrorKind, Jacobian, Tensor, Tree};
use std::fmt;
use std::sync::Arc;

/// Options for solving a linear system with operator-vector products only.
///
/// ```
/// use wengert::prelude::*;
/// let halved = Krylov::cg().tolerance(1e-12).steps(50).preconditioner(|r: &Tensor| r * 0.5);
/// let x = linear_solve(|a: &Tensor, x: &Tensor| a * x, &Tensor::from(2.0), &Tensor::from([2.0, 4.0]), halved);
/// assert_eq!(x, Tensor::from([1.0, 2.0]));
/// ```
pub struct Krylov<X> {
    options: Options,
    preconditioner: Option<Arc<dyn Fn(&X) -> X + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    ConjugateGradients,
    Gmres,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    method: Method,
    tolerance: Option<f64>,
    steps: Option<usize>,
    restart: usize,
}

impl<X> Clone for Krylov<X> {
    fn clone(&self) -> Self {
        Krylov { options: self.options, preconditioner: self.preconditioner.clone() }
    }
}

impl<X> fmt::Debug for Krylov<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

impl<X> Krylov<X> {
    fn new(method: Method) -> Krylov<X> {
        Krylov { options: Options { method, tolerance: None, steps: None, restart: 50 }, preconditioner: None }
    }

    /// Conjugate gradients, for symmetric positive definite operators.
    pub fn cg() -> Krylov<X> {
        Krylov::new(Method::ConjugateGradients)
    }

    /// GMRES, for any operator.
    pub fn gmres() -> Krylov<X> {
        Krylov::new(Method::Gmres)
    }

    /// The residual tolerance relative to the right-hand side; by default 1e-10, or 1e-5 for `f32`.
    pub fn tolerance(mut self, tolerance: f64) -> Krylov<X> {
        self.options.tolerance = Some(tolerance);
        self
    }

    /// The maximum number of products with the operator; by default ten per unknown, and at least 100.
    pub fn steps(mut self, steps: usize) -> Krylov<X> {
        self.options.steps = Some(steps);
        self
    }

    /// The number of steps after which GMRES restarts, which bounds its memory; by default 50.
    pub fn restart(mut self, steps: usize) -> Krylov<X> {
        self.options.restart = steps.max(1);
        self
    }

    /// A linear function that approximates the inverse of the operator. For conjugate gradients it must be symmetric positive definite too.
    /// It affects the speed of convergence, not the solution, so it needs no derivative.
    pub fn preconditioner(mut self, near_inverse: impl Fn(&X) -> X + Send + Sync + 'static) -> Krylov<X> {
        self.preconditioner = Some(Arc::new(near_inverse));
        self
    }
}

impl<X: Tree + Send + Sync + 'static> Krylov<X> {
    /// The same method for unknowns that are packed into one tensor.
    pub(super) fn packed(&self, packing: &Packing<X>) -> Solver {
        let packed = |near_inverse: &Arc<dyn Fn(&X) -> X + Send + Sync>| {
            let (near_inverse, packing) = (near_inverse.clone(), packing.again());
            let packed = move |r: &Tensor| {
                packing.pack("what the preconditioner returned", &near_inverse(&packing.unpack(r))).or_raise()
            };
            Arc::new(packed) as Arc<dyn Fn(&Tensor) -> Tensor + Send + Sync>
        };
        Krylov { options: self.options, preconditioner: self.preconditioner.as_ref().map(packed) }
    }
}

/// A method whose unknown is a single tensor.
pub(super) type Solver = Krylov<Tensor>;

/// A linear map of tensors of one shape.
type Apply<'a> = &'a dyn Fn(&Tensor) -> Tensor;

impl Solver {
    /// Whether the method assumes that a system equals its transpose.
    pub fn is_symmetric(&self) -> bool {
        self.options.method == Method::ConjugateGradients
    }

    /// Solves `map x = b`, or the transposed system.
    pub fn solve(
        &self,
        name: &'static str,
        map: &Jacobian<Tensor, Tensor>,
        transposed: bool,
        b: &Tensor,
    ) -> Result<Tensor, Error> {
        let apply = |v: &Tensor| if transposed { map.apply_transpose(v) } else { map.apply(v) };
        let turned = match &self.preconditioner {
            Some(near_inverse) if transposed => Some(Jacobian::of(|r: &Tensor| near_inverse(r), b)),
            _ => None,
        };
        let precondition = |r: &Tensor| match (&turned, &self.preconditioner) {
            (Some(turned), _) => turned.apply_transpose(r),
            (None, Some(near_inverse)) => near_inverse(r),
            (None, None) => r.clone(),
        };
        let size = norm(b);
        if size == 0.0 || !size.is_finite() {
            return match size == 0.0 {
                true => Ok(b.full_like(0.0)),
                false => Err(diverged(name, 0, size, "the right side is not finite")),
            };
        }
        // Scale the right-hand side to about one, so that no square overflows or underflows; a power of two causes no rounding.
        let scale = size.log2().floor().exp2();
        let b = &(b / scale);
        let x = match self.options.method {
            Method::ConjugateGradients => self.conjugate_gradients(name, &apply, &precondition, b)?,
            Method::Gmres => self.minimal_residuals(name, &apply, &precondition, b)?,
        };
        Ok(x * scale)
    }

    fn goal(&self, name: &'static str, b: &Tensor) -> Goal {
        Goal {
            name,
            size: norm(b),
            tolerance: self.options.tolerance.unwrap_or_else(|| usual_tolerance(b.dtype())),
            most: self.options.steps.unwrap_or_else(|| (10 * b.elements()).max(100)),
        }
    }

    fn conjugate_gradients(
        &self,
        name: &'static str,
        apply: Apply<'_>,
        precondition: Apply<'_>,
        b: &Tensor,
    ) -> Result<Tensor, Error> {
        let goal = self.goal(name, b);
        let mut x = b.full_like(0.0);
        let mut r = b.clone();
        let mut z = precondition(&r);
        expect_numbers(name, &z)?;
        let mut p = z.clone();
        let mut rz = dot(&r, &z);
        let mut steps = 0;
        while !goal.is_reached(norm(&r), steps)? {
            let image = apply(&p);
            let curvature = dot(&p, &image);
            if curvature <= 0.0 {
                let message = format!("the operator has curvature {curvature:e} in some direction");
                return Err(Error::new(ErrorKind::NotPositiveDefinite(Vec::new()), name, message)
                    .help("use Krylov::gmres(), which takes any operator"));
            }
            let length = rz / curvature;
            x = x.combine(1.0, &p, length);
            r = r.combine(1.0, &image, -length);
            z = precondition(&r);
            let next = dot(&r, &z);
            p = z.combine(1.0, &p, next / rz);
            rz = next;
            steps += 1;
        }
        Ok(x)
    }

    /// Preconditioned from the right, so that the residual is that of the original system.
    fn minimal_residuals(
        &self,
        name: &'static str,
        apply: Apply<'_>,
        precondition: Apply<'_>,
        b: &Tensor,
    ) -> Result<Tensor, Error> {
        let goal = self.goal(name, b);
        let mut x = b.full_like(0.0);
        let mut r = b.clone();
        let mut left = norm(&r);
        let mut steps = 0;
        while !goal.is_reached(left, steps)? {
            let cycle = Cycle::run(&goal, apply, precondition, &r, self.options.restart.min(goal.most - steps))?;
            steps += cycle.steps;
            x = &x + &precondition(&cycle.correction);
            r = b - &apply(&x);
            let before = std::mem::replace(&mut left, norm(&r));
            if left > goal.target() && left > 0.999 * before {
                let share = left / goal.size;
                let message = format!("no progress in {} steps: the residual stays at {share:.1e} of b", cycle.steps);
                return Err(diverged(name, steps, share, message)
                    .help("restart later, give a preconditioner, or see whether the operator is singular"));
            }
        }
        Ok(x)
    }
}

/// The stopping criterion of an iteration.
struct Goal {
    name: &'static str,
    /// The norm of the right-hand side, and the residual tolerance relative to it.
    size: f64,
    tolerance: f64,
    /// Maximum number of steps.
    most: usize,
}

impl Goal {
    fn target(&self) -> f64 {
        self.tolerance * self.size
    }

    /// Whether a residual of this norm is small enough. Returns an error if the steps are used up.
    fn is_reached(&self, left: f64, steps: usize) -> Result<bool, Error> {
        if left <= self.target() {
            return Ok(true);
        }
        if left.is_finite() && steps < self.most {
            return Ok(false);
        }
        let (share, tolerance) = (left / self.size, self.tolerance);
        let message = match left.is_finite() {
            true => format!("after {steps} steps the residual is {share:.1e} of b, not yet {tolerance:.1e}"),
            false => format!("the residual is not finite after {steps} steps"),
        };
        Err(diverged(self.name, steps, share, message)
            .help("allow more steps or a larger tolerance, or give a preconditioner"))
    }
}

/// The result of one GMRES cycle.
struct Cycle {
    correction: Tensor,
    steps: usize,
}

impl Cycle {
    /// Minimises the residual over at most `most` directions. Their orthonormal basis is built one vector at a time, and the least-squares
    /// problem is kept triangular by rotations.
    fn run(goal: &Goal, apply: Apply<'_>, precondition: Apply<'_>, r: &Tensor, most: usize) -> Result<Cycle, Error> {
        let (name, target) = (goal.name, goal.target());
        let (beta, nothing) = (norm(r), 8.0 * epsilon(r.dtype()));
        let mut basis = vec![r / beta];
        let mut triangle: Vec<Vec<f64>> = Vec::new();
        let mut rotations: Vec<(f64, f64)> = Vec::new();
        let mut right = vec![beta];
        for step in 0..most {
            let mut image = apply(&precondition(&basis[step]));
            expect_numbers(name, &image)?;
            let length = norm(&image);
            let mut column = vec![0.0; step + 1];
            // Orthogonalising twice is accurate to the last digit.
            for _ in 0..2 {
                for (entry, direction) in column.iter_mut().zip(&basis) {
                    let share = dot(&image, direction);
                    image = image.combine(1.0, direction, -share);
                    *entry += share;
                }
            }
            let rest = norm(&image);
            for (row, (cosine, sine)) in rotations.iter().enumerate() {
                let (a, b) = (column[row], column[row + 1]);
                (column[row], column[row + 1]) = (cosine * a + sine * b, cosine * b - sine * a);
            }
            let pivot = column[step].hypot(rest);
            if pivot <= nothing * length || !pivot.is_finite() {
                return match pivot.is_finite() {
                    true => Err(Error::new(ErrorKind::Singular(Vec::new()), name, "the operator is singular")
                        .help("a direction is mapped to zero, so the system has no unique solution")),
                    false => Err(diverged(name, step, f64::NAN, "the operator's values are not finite")),
                };
            }
            let (cosine, sine) = (column[step] / pivot, rest / pivot);
            column[step] = pivot;
            let last = right[step];
            right[step] = cosine * last;
            right.push(-sine * last);
            rotations.push((cosine, sine));
            triangle.push(column);
            if right[step + 1].abs() <= target || rest <= nothing * length {
                break;
            }
            basis.push(image / rest);
        }
        let steps = triangle.len();
        for row in (0..steps).rev() {
            let known: f64 = (row + 1..steps).map(|column| triangle[column][row] * right[column]).sum();
            right[row] = (right[row] - known) / triangle[row][row];
        }
        let parts = basis.iter().zip(&right[..steps]).map(|(direction, share)| direction * *share);
        let correction = parts.reduce(|sum, part| sum + part).unwrap_or_else(|| r.full_like(0.0));
        Ok(Cycle { correction, steps })
    }
}
