//! Linear systems with an operator instead of a matrix.
//!
//! For `x = A^-1 b`, `dx = A^-1 (db - dA x)`, so `bbar = A^-T xbar` and `thetabar = -(dA x)^T bbar`. The derivative is another such system,
//! with the transposed operator, on tensors of a lower level.

use super::krylov::{Krylov, Solver};
use super::packing::{Packing, operands};
use super::{Map, bind, bind_at, completed, expect_numbers, split, with};
use crate::custom::{Function, Residual};
use crate::error::{OrRaise, catch};
use crate::location::{self, Line};
use crate::primitive::{Mask, SpecRef, Specs};
use crate::{Error, Tensor, Tree, jvp, linearize, vjp};
use smallvec::smallvec;
use std::sync::Arc;

/// Solves `operator(theta, x) = b` for x with operator-vector products only. `operator` must be linear in its second argument. It is
/// differentiated with respect to `theta`; tensors that it captures are constants.
///
/// The derivative, in any mode and of any order, is found by solving further systems with the operator or its transpose; the iteration is
/// not recorded. Under `vmap` every element of the batch is solved separately.
///
/// ```
/// use wengert::prelude::*;
/// // A tridiagonal matrix that is nowhere stored: (2 + theta) x_i - x_(i-1) - x_(i+1).
/// let operator = |theta: &Tensor, x: &Tensor| {
///     let zero = Tensor::zeros([1]);
///     let (up, down) = (Tensor::concat(&[&x.narrow(0, 1, 2), &zero], 0), Tensor::concat(&[&zero, &x.narrow(0, 0, 2)], 0));
///     x * (theta + 2.0) - up - down
/// };
/// let b = Tensor::ones([3]);
/// let solve = |theta: &Tensor| linear_solve(operator, theta, &b, Krylov::cg()).sum();
/// let (value, slope) = value_and_grad(solve)(&Tensor::from(0.0));
/// assert!((value.item() - 5.0).abs() < 1e-12);
/// // -b' A^-2 b = -|x|^2, where x = (1.5, 2, 1.5).
/// assert!((slope.item() + 8.5).abs() < 1e-12);
/// ```
#[track_caller]
pub fn linear_solve<T, X>(
    operator: impl Fn(&T, &X) -> X + Send + Sync + 'static,
    theta: &T,
    b: &X,
    solver: Krylov<X>,
) -> X
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    solve_at(operator, theta, b, solver, location::resolve(Line::caller())).or_raise()
}

/// Like [`linear_solve`], but returns an error if the system is singular or the tolerance is not reached.
///
/// ```
/// use wengert::prelude::*;
/// let nothing = |_: &(), x: &Tensor| x * 0.0;
/// let error = try_linear_solve(nothing, &(), &Tensor::ones([2]), Krylov::gmres()).unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::Singular(vec![]));
/// ```
#[track_caller]
pub fn try_linear_solve<T, X>(
    operator: impl Fn(&T, &X) -> X + Send + Sync + 'static,
    theta: &T,
    b: &X,
    solver: Krylov<X>,
) -> Result<X, Error>
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    catch(|| solve_at(operator, theta, b, solver, line)).flatten()
}

fn solve_at<T, X>(
    operator: impl Fn(&T, &X) -> X + Send + Sync + 'static,
    theta: &T,
    b: &X,
    solver: Krylov<X>,
    line: Line,
) -> Result<X, Error>
where
    T: Tree + Send + Sync + 'static,
    X: Tree + Send + Sync + 'static,
{
    let _scope = location::scope(line);
    let packing = Packing::of("linear_solve", "the right side", b).map_err(|error| error.at(line))?;
    let operator = packing.map(theta, "what the operator returned", operator);
    let system = LinearSystem { operator, transposed: false, solver: solver.packed(&packing) };
    let packed = packing.pack("the right side", b)?;
    Ok(packing.unpack(&bind_at(Arc::new(system), &operands(theta, &packed), line)?))
}

/// The solution of a system as a function of the parameters' leaves and the right-hand side.
#[derive(Clone)]
pub(super) struct LinearSystem {
    pub operator: Map,
    pub transposed: bool,
    pub solver: Solver,
}

impl LinearSystem {
    /// The system with the transposed operator.
    fn turned(&self) -> LinearSystem {
        let transposed = if self.solver.is_symmetric() { self.transposed } else { !self.transposed };
        LinearSystem { transposed, ..self.clone() }
    }

    /// The product with the operator, or with its transpose.
    fn apply(&self, theta: &[Tensor], x: &Tensor) -> Tensor {
        match self.transposed {
            false => (self.operator)(theta, x),
            true => vjp(|v: &Tensor| (self.operator)(theta, v), x).1.call(x),
        }
    }
}

impl Function for LinearSystem {
    fn name(&self) -> &'static str {
        "linear_solve"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> Specs {
        smallvec![operands[operands.len() - 1].to_spec()]
    }

    fn reads_numbers(&self) -> bool {
        true
    }

    fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let (theta, b) = split(operands);
        // A single run of the operator serves all products, in both directions.
        let (image, map) = linearize(|v: &Tensor| (self.operator)(theta, v), &b.full_like(0.0));
        expect_numbers(self.name(), &image).or_raise();
        vec![self.solver.solve(self.name(), &map, self.transposed, b).or_raise()]
    }

    fn forward(&self, operands: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let x = bind(self.clone(), operands);
        let residual = Residual { tensors: with(split(operands).0, &x), form: Arc::new(()) };
        (vec![x], residual)
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], wanted: Mask) -> Vec<Option<Tensor>> {
        let (theta, x) = split(&residual.tensors);
        let Some(cotangent) = &cotangents[0] else { return vec![None; theta.len() + 1] };
        let of_b = bind(self.turned(), &with(theta, cotangent));
        let mut pulled = vec![None; theta.len()];
        if (0..theta.len()).any(|position| wanted.has(position)) {
            // <bbar, dA x>, and for the transposed system <x, dA bbar>.
            let (point, seed) = if self.transposed { (&of_b, x) } else { (x, &of_b) };
            let (_, pullback) = vjp(|theta: &Vec<Tensor>| (self.operator)(theta, point), &theta.to_vec());
            pulled = pullback.call_named(seed).into_iter().map(|(_, part)| part.map(|part| -part)).collect();
        }
        pulled.push(Some(of_b));
        pulled
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let (theta, x) = split(&residual.tensors);
        let (of_b, of_theta) = tangents.split_last().expect("a call has operands");
        let mut right = of_b.clone();
        if of_theta.iter().any(Option::is_some) {
            let directions = completed(of_theta, theta);
            let image = jvp(|theta: &Vec<Tensor>| self.apply(theta, x), &theta.to_vec(), &directions).1;
            right = Some(right.map_or_else(|| -&image, |right| right - &image));
        }
        vec![right.map(|right| bind(self.clone(), &with(theta, &right)))]
    }
}
