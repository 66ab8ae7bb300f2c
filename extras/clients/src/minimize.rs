//! argmin: functions of a vector with our gradients and Hessian-vector products.

use argmin::core::{CostFunction, Error, Executor, Gradient, Hessian, IterState, Solver, State, TerminationReason};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::newton::NewtonCG;
use argmin::solver::quasinewton::BFGS;
use argmin_math::ArgminDot;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wengert::prelude::*;

/// The number of differentiations requested by a solver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Values with their gradients.
    pub value_and_grad: usize,
    /// Gradients recorded for later Hessian-vector products.
    pub linearize: usize,
    /// Hessian-vector products.
    pub hessian_product: usize,
}

/// Where and why a solver stopped, and how many calls it made.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The point.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// The number of steps of the solver.
    pub iterations: u64,
    /// Whether its own criterion was met, rather than the step limit.
    pub converged: bool,
    /// The number of calls.
    pub calls: Calls,
}

/// A scalar function of a vector, with the interface of argmin.
struct Objective<F> {
    f: F,
    calls: Rc<Cell<Calls>>,
    /// The last point with its value and gradient: a line search asks for both, one after the other, and BFGS asks once more.
    last: RefCell<Option<(Vec<f64>, f64, Vec<f64>)>>,
}

impl<F: Fn(&Tensor) -> Tensor> Objective<F> {
    fn new(f: F) -> Self {
        Objective { f, calls: Rc::default(), last: RefCell::default() }
    }

    fn with_last<R>(&self, x: &[f64], read: impl FnOnce(f64, &[f64]) -> R) -> R {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(point, ..)| point != x) {
            count(&self.calls, |calls| &mut calls.value_and_grad);
            let (value, gradient) = value_and_grad(&self.f)(&Tensor::from(x.to_vec()));
            *last = Some((x.to_vec(), value.item(), gradient.to_vec()));
        }
        let (_, value, gradient) = last.as_ref().expect("set above");
        read(*value, gradient)
    }
}

/// Counts one more call of a kind.
pub(crate) fn count(calls: &Cell<Calls>, counter: impl FnOnce(&mut Calls) -> &mut usize) {
    let mut now = calls.get();
    *counter(&mut now) += 1;
    calls.set(now);
}

impl<F: Fn(&Tensor) -> Tensor> CostFunction for Objective<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.with_last(x, |value, _| value))
    }
}

impl<F: Fn(&Tensor) -> Tensor> Gradient for Objective<F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.with_last(x, |_, gradient| gradient.to_vec()))
    }
}

impl<F: Fn(&Tensor) -> Tensor> Hessian for Objective<F> {
    type Param = Vec<f64>;
    type Hessian = HessianMap;

    fn hessian(&self, x: &Vec<f64>) -> Result<HessianMap, Error> {
        count(&self.calls, |calls| &mut calls.linearize);
        let (_, map) = linearize(grad(&self.f), &Tensor::from(x.to_vec()));
        Ok(HessianMap { map, calls: self.calls.clone() })
    }
}

/// The Hessian at one point: the derivative of the gradient. Newton-CG only needs its product with a vector, so no matrix is formed.
#[derive(Clone)]
struct HessianMap {
    map: LinearMap<Tensor, Tensor>,
    calls: Rc<Cell<Calls>>,
}

impl ArgminDot<Vec<f64>, Vec<f64>> for HessianMap {
    fn dot(&self, v: &Vec<f64>) -> Vec<f64> {
        count(&self.calls, |calls| &mut calls.hessian_product);
        self.map.apply(&Tensor::from(v.clone())).to_vec()
    }
}

/// BFGS with the Moré-Thuente line search, until the norm of the gradient is below `tolerance`.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_clients::minimize::bfgs;
/// let minimum = bfgs(|x: &Tensor| (x - 3.0).square().sum(), vec![0.0, 1.0], 1e-8).unwrap();
/// assert!(minimum.converged && minimum.x.iter().all(|x| (x - 3.0).abs() < 1e-8));
/// ```
pub fn bfgs(f: impl Fn(&Tensor) -> Tensor, start: Vec<f64>, tolerance: f64) -> Result<Minimum, Error> {
    let solver = BFGS::new(MoreThuenteLineSearch::new()).with_tolerance_grad(tolerance)?.with_tolerance_cost(0.0)?;
    let identity = |i| (0..start.len()).map(|j| if i == j { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
    let inverse = (0..start.len()).map(identity).collect::<Vec<_>>();
    run(f, solver, |state| state.param(start).inv_hessian(inverse).max_iters(500))
}

/// Newton-CG works on this multiple of the function. argmin ends its inner conjugate gradients when the *square* of the residual is below a
/// fraction of the gradient's norm; for gradients below 1 that takes one or two steps, and Newton's method degenerates to steepest descent.
/// Multiplied by s, the residual must be below sqrt(length / 2s).
pub(crate) const SCALE: f64 = 1e9;

/// Newton-CG with the Moré-Thuente line search, until a step lowers the value by less than `tolerance`. The Hessian is only ever multiplied
/// by vectors.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_clients::minimize::newton_cg;
/// let minimum = newton_cg(|x: &Tensor| (x - 3.0).square().sum(), vec![0.0, 1.0], 1e-12).unwrap();
/// assert!(minimum.converged && minimum.x.iter().all(|x| (x - 3.0).abs() < 1e-8));
/// ```
pub fn newton_cg(f: impl Fn(&Tensor) -> Tensor, start: Vec<f64>, tolerance: f64) -> Result<Minimum, Error> {
    let solver = NewtonCG::new(MoreThuenteLineSearch::new()).with_tolerance(tolerance * SCALE)?;
    let scaled = |x: &Tensor| f(x) * SCALE;
    let minimum = run(scaled, solver, |state| state.param(start).max_iters(500))?;
    Ok(Minimum { value: minimum.value / SCALE, ..minimum })
}

/// The state of the solvers used here: a point, a gradient, and their own kind of Hessian.
pub(crate) type Kept<H> = IterState<Vec<f64>, Vec<f64>, (), H, (), f64>;

fn run<F: Fn(&Tensor) -> Tensor, H>(
    f: F,
    solver: impl Solver<Objective<F>, Kept<H>>,
    configure: impl FnOnce(Kept<H>) -> Kept<H>,
) -> Result<Minimum, Error> {
    let objective = Objective::new(f);
    let calls = objective.calls.clone();
    let state = Executor::new(objective, solver).configure(configure).timer(false).run()?.state;
    Ok(finished(&state, calls.get()))
}

/// The result from a solver's last state.
pub(crate) fn finished<H>(state: &Kept<H>, calls: Calls) -> Minimum {
    Minimum {
        x: state.get_param().expect("a solver leaves its last point").clone(),
        value: state.get_cost(),
        iterations: state.get_iter(),
        converged: state.get_termination_reason() == Some(&TerminationReason::SolverConverged),
        calls,
    }
}
