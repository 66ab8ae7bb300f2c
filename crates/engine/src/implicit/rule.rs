//! The implicit function theorem: where `f(theta, x) = 0`, `dx = -(df/dx)^-1 (df/dtheta) dtheta`.

use super::krylov::Solver;
use super::linear::LinearSystem;
use super::packing::{Packing, operands};
use super::{Map, bind, bind_at, completed, split, usual_tolerance, with};
use crate::custom::{Function, Residual};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::methods::*;
use crate::primitive::{Mask, SpecRef, Specs};
use crate::{Error, Tensor, Tree, jacobian, jvp, stop_gradient, vjp};
use smallvec::smallvec;
use std::sync::Arc;

/// Up to this many unknowns the Jacobian is formed and factored.
pub(super) const DENSE_MOST: usize = 100;

/// Finds the unknown, given the parameters' leaves and an initial guess.
pub(super) type Find = Arc<dyn Fn(&[Tensor], &Tensor) -> Result<Tensor, Error> + Send + Sync>;

/// Options common to all solvers.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub tolerance: Option<f64>,
    pub steps: usize,
    /// For systems that are too large to form their matrix.
    pub linear: Solver,
}

impl Options {
    /// Solves from the initial guess `x0`; `prepare` builds the equation and a solver for it with a given tolerance.
    pub fn solve<T, X>(
        &self,
        name: &'static str,
        theta: &T,
        x0: &X,
        line: Line,
        prepare: impl FnOnce(&Packing<X>, f64) -> (Map, Find),
    ) -> Result<X, Error>
    where
        T: Tree,
        X: Tree + Send + Sync + 'static,
    {
        let _scope = location::scope(line);
        let packing = Packing::of(name, "the first guess", x0).map_err(|error| error.at(line))?;
        let guess = stop_gradient(&packing.pack("the first guess", x0)?);
        let tolerance = self.tolerance.unwrap_or_else(|| usual_tolerance(packing.dtype()));
        let (equation, find) = prepare(&packing, tolerance);
        let solution = Solution { name, equation, find, solver: self.linear.clone() };
        Ok(packing.unpack(&bind_at(Arc::new(solution), &operands(theta, &guess), line)?))
    }
}

/// The options that all solvers share, and the two ways to call them. Each solver defines `new` and `solve_at` itself.
macro_rules! solver {
    ($Solver:ident, $what:literal, $Output:ty) => {
        impl Default for $Solver {
            fn default() -> $Solver {
                $Solver::new()
            }
        }

        impl $Solver {
            /// The tolerance of the last step relative to `1 + |x|`; by default 1e-10, or 1e-5 for `f32`.
            pub fn tolerance(mut self, tolerance: f64) -> $Solver {
                self.options.tolerance = Some(tolerance);
                self
            }

            /// The maximum number of steps.
            pub fn steps(mut self, steps: usize) -> $Solver {
                self.options.steps = steps;
                self
            }

            /// The tolerance for the large linear systems of the derivative; by default 1e-10, or 1e-5 for `f32`.
            pub fn linear_tolerance(mut self, tolerance: f64) -> $Solver {
                self.options.linear = self.options.linear.tolerance(tolerance);
                self
            }

            #[doc = concat!("The ", $what, ".")]
            #[track_caller]
            pub fn solve<T, X>(&self, f: impl Fn(&T, &X) -> $Output + Send + Sync + 'static, theta: &T, x0: &X) -> X
            where
                T: Tree + Send + Sync + 'static,
                X: Tree + Send + Sync + 'static,
            {
                self.solve_at(f, theta, x0, location::resolve(Line::caller())).or_raise()
            }

            #[doc = concat!("The ", $what, ", or an error as a value.")]
            #[track_caller]
            pub fn try_solve<T, X>(
                &self,
                f: impl Fn(&T, &X) -> $Output + Send + Sync + 'static,
                theta: &T,
                x0: &X,
            ) -> Result<X, Error>
            where
                T: Tree + Send + Sync + 'static,
                X: Tree + Send + Sync + 'static,
            {
                let line = location::resolve(Line::caller());
                catch(|| self.solve_at(f, theta, x0, line)).flatten()
            }
        }
    };
}
pub(super) use solver;

/// The solution of `f(theta, x) = 0` as a function of the parameters' leaves and an initial guess, which has no derivative.
#[derive(Clone)]
struct Solution {
    name: &'static str,
    equation: Map,
    find: Find,
    solver: Solver,
}

impl Solution {
    /// `(df/dx)^-1 right`, or the same with the transposed Jacobian.
    fn solved(&self, theta: &[Tensor], x: &Tensor, right: &Tensor, transposed: bool) -> Tensor {
        let count = x.elements();
        if count <= DENSE_MOST {
            let matrix = jacobian(|x: &Tensor| (self.equation)(theta, x))(x).reshape([count, count]);
            let matrix = if transposed { matrix.t() } else { matrix };
            return matrix.solve(&right.reshape([count])).reshape(x.shape());
        }
        let equation = self.equation.clone();
        let operator = move |at: &[Tensor], v: &Tensor| {
            let (theta, x) = split(at);
            jvp(|x: &Tensor| equation(theta, x), x, v).1
        };
        let transposed = transposed && !self.solver.is_symmetric();
        let system = LinearSystem { operator: Arc::new(operator), transposed, solver: self.solver.clone() };
        bind(system, &with(&with(theta, x), right))
    }
}

impl Function for Solution {
    fn name(&self) -> &'static str {
        self.name
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        smallvec![operands[operands.len() - 1].to_spec()]
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let (theta, guess) = split(operands);
        vec![(self.find)(theta, guess).or_raise()]
    }

    fn forward(&self, operands: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let x = bind(self.clone(), operands);
        let residual = Residual { tensors: with(split(operands).0, &x), form: Arc::new(()) };
        (vec![x], residual)
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let (theta, x) = split(&residual.tensors);
        let Some(cotangent) = &cotangents[0] else { return vec![None; theta.len() + 1] };
        let seed = self.solved(theta, x, cotangent, true);
        let (_, pullback) = vjp(|theta: &Vec<Tensor>| (self.equation)(theta, x), &theta.to_vec());
        let of_theta = pullback.call_named(&seed).into_iter().map(|(_, part)| part.map(|part| -part));
        of_theta.chain([None]).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let (theta, x) = split(&residual.tensors);
        let of_theta = &tangents[..theta.len()];
        if of_theta.iter().all(Option::is_none) {
            return vec![None];
        }
        let directions = completed(of_theta, theta);
        let image = jvp(|theta: &Vec<Tensor>| (self.equation)(theta, x), &theta.to_vec(), &directions).1;
        vec![Some(-self.solved(theta, x, &image, false))]
    }
}
