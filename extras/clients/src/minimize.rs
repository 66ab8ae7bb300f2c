//! argmin: functions of a vector with our gradients and Hessian products.

use argmin::core::{CostFunction, Error, Executor, Gradient, Hessian, IterState, Solver, State, TerminationReason};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::newton::NewtonCG;
use argmin::solver::quasinewton::BFGS;
use argmin_math::ArgminDot;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wengert::prelude::*;

/// How often a solver made us differentiate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Values with their gradients.
    pub value_and_grad: usize,
    /// Gradients recorded so that Hessian products can be asked for.
    pub linearize: usize,
    /// Products of a Hessian and a vector.
    pub hessian_product: usize,
}

/// Where a solver stopped, why, and what it asked for.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The point.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// Steps of the solver.
    pub iterations: u64,
    /// Whether its own criterion was met, rather than the limit of steps.
    pub converged: bool,
    /// What it cost.
    pub calls: Calls,
}

/// A scalar function of a vector, as argmin wants it.
struct Objective<F> {
    f: F,
    calls: Rc<Cell<Calls>>,
    /// The last point with its value and gradient: a line search asks for both, one after the other, and BFGS once more.
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

/// One call more of a kind.
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

/// The Hessian at one point: the derivative of the gradient. All that Newton-CG asks of it is its product with a vector,
/// so there is no matrix.
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

/// BFGS with the line search of Moré and Thuente, until the gradient is shorter than `tolerance`.
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

/// Newton-CG works on this multiple of the function. argmin ends its inner conjugate gradients when the *square* of the residual
/// is below a fraction of the gradient's length; for gradients below 1 that is one step or two, and Newton's method becomes
/// steepest descent. Multiplied by s, the residual must be below sqrt(length / 2s).
pub(crate) const SCALE: f64 = 1e9;

/// Newton-CG with the line search of Moré and Thuente, until a step lowers the value by less than `tolerance`. The Hessian is
/// only ever multiplied with vectors.
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

/// What the solvers here keep: a point, a gradient, and a Hessian of their own kind.
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

/// What a solver's last state says.
pub(crate) fn finished<H>(state: &Kept<H>, calls: Calls) -> Minimum {
    Minimum {
        x: state.get_param().expect("a solver leaves its last point").clone(),
        value: state.get_cost(),
        iterations: state.get_iter(),
        converged: state.get_termination_reason() == Some(&TerminationReason::SolverConverged),
        calls,
    }
}
