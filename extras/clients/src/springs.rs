//! argmin: a chain of springs under load, with our gradients and Hessian-vector products of a recorded energy.
//!
//! Nodes `p[0], .., p[n]` hang in a plane; the first and the last are fixed. Each spring resists a change of its length, and each node
//! carries a weight:
//!
//! ```text
//! E = sum over springs of 1/2 k (|p[i+1] - p[i]| - l)^2  +  sum over nodes of w[i] y[i]
//! ```
//!
//! The chain is at rest where E is smallest. There the horizontal force H is the same in every spring and the vertical force grows by the
//! weight at each node, which gives the solution without any minimisation; the tests use this.

use crate::minimize::{Calls, Kept, Minimum, SCALE, count, finished};
use argmin::core::{CostFunction, Error, Executor, Gradient, Hessian, Solver};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::newton::NewtonCG;
use argmin::solver::quasinewton::LBFGS;
use argmin_math::ArgminDot;
use std::cell::Cell;
use std::rc::Rc;
use wengert::scalar::{Real, Replay, Symbol};

/// The number of springs.
pub const SPRINGS: usize = 16;
/// The stiffness of each.
pub const STIFFNESS: f64 = 60.0;
/// The length of each at rest.
pub const LENGTH: f64 = 0.1;
/// The distance between the two ends, which are at the same height.
pub const SPAN: f64 = 1.5;

/// The weight of a free node: a light chain, and a heavy piece a third of the way along.
pub fn weight(node: usize) -> f64 {
    if node == SPRINGS / 3 { 2.0 } else { 0.1 }
}

/// All nodes, including the ends: the free ones are `x[0], y[0], x[1], y[1], ..`.
pub fn nodes<T: Real>(free: &[T]) -> Vec<[T; 2]> {
    let held = |x: f64| [T::lit(x), T::lit(0.0)];
    let inner = free.chunks_exact(2).map(|place| [place[0], place[1]]);
    std::iter::once(held(0.0)).chain(inner).chain([held(SPAN)]).collect()
}

/// The energy of the chain with its free nodes at these positions.
///
/// ```
/// use wengert_clients::springs::{LENGTH, SPAN, SPRINGS, STIFFNESS, energy, level};
/// // On one height every spring is shortened or stretched alike.
/// let change = SPAN / SPRINGS as f64 - LENGTH;
/// assert!((energy(&level()) - 0.5 * STIFFNESS * change * change * SPRINGS as f64).abs() < 1e-12);
/// ```
pub fn energy<T: Real>(free: &[T]) -> T {
    let nodes = nodes(free);
    let stretched = nodes.windows(2).fold(T::lit(0.0), |sum, ends| {
        let [from, to] = [ends[0], ends[1]];
        let excess = T::norm(&[to[0] - from[0], to[1] - from[1]]) - T::lit(LENGTH);
        sum + T::lit(0.5 * STIFFNESS) * excess * excess
    });
    (1..SPRINGS).fold(stretched, |sum, node| sum + T::lit(weight(node)) * nodes[node][1])
}

/// The free nodes in equal steps, at the height of the ends.
pub fn level() -> Vec<f64> {
    (1..SPRINGS).flat_map(|node| [SPAN * node as f64 / SPRINGS as f64, 0.0]).collect()
}

/// The free nodes on a parabola: a hanging chain.
pub fn sagging() -> Vec<f64> {
    let place = |share: f64| [SPAN * share, -2.0 * share * (1.0 - share)];
    (1..SPRINGS).flat_map(|node| place(node as f64 / SPRINGS as f64)).collect()
}

/// The recorded energy in units of `1 / scale`, with the interface of argmin. The Hessian at a point is represented by the recording and
/// the point.
#[derive(Clone)]
struct Chain {
    energy: Rc<Replay>,
    scale: f64,
    calls: Rc<Cell<Calls>>,
}

impl Chain {
    fn new(start: &[f64], scale: f64) -> Chain {
        let energy = Replay::record(energy::<Symbol>, start).boxed();
        Chain { energy: Rc::new(energy), scale, calls: Rc::default() }
    }

    fn scaled(&self, mut numbers: Vec<f64>) -> Vec<f64> {
        numbers.iter_mut().for_each(|number| *number *= self.scale);
        numbers
    }
}

impl CostFunction for Chain {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.energy.value(x) * self.scale)
    }
}

impl Gradient for Chain {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        count(&self.calls, |calls| &mut calls.value_and_grad);
        let mut slopes = vec![0.0; x.len()];
        self.energy.value_and_grad(x, &mut slopes);
        Ok(self.scaled(slopes))
    }
}

impl Hessian for Chain {
    type Param = Vec<f64>;
    type Hessian = Curvature;

    fn hessian(&self, x: &Vec<f64>) -> Result<Curvature, Error> {
        Ok(Curvature { chain: self.clone(), at: x.clone() })
    }
}

/// The Hessian at one point, without forming a matrix.
#[derive(Clone)]
struct Curvature {
    chain: Chain,
    at: Vec<f64>,
}

impl ArgminDot<Vec<f64>, Vec<f64>> for Curvature {
    fn dot(&self, v: &Vec<f64>) -> Vec<f64> {
        count(&self.chain.calls, |calls| &mut calls.hessian_product);
        let mut product = vec![0.0; v.len()];
        self.chain.energy.hvp(&self.at, v, &mut product);
        self.chain.scaled(product)
    }
}

/// A chain at rest, and the number of recordings of its energy.
#[derive(Clone, Debug)]
pub struct Rest {
    /// Where the solver stopped.
    pub minimum: Minimum,
    /// The number of recordings of the energy.
    pub recordings: usize,
}

/// L-BFGS with seven pairs and the Moré-Thuente line search, until the norm of the gradient is below `tolerance`.
pub fn lbfgs(start: Vec<f64>, tolerance: f64) -> Result<Rest, Error> {
    let search = MoreThuenteLineSearch::new();
    let solver = LBFGS::new(search, 7).with_tolerance_grad(tolerance)?.with_tolerance_cost(0.0)?;
    run(Chain::new(&start, 1.0), solver, start)
}

/// Newton-CG with the Moré-Thuente line search, until a step lowers the energy by less than `tolerance`; on a multiple of the energy, as in
/// [`minimize`](crate::minimize).
pub fn newton_cg(start: Vec<f64>, tolerance: f64) -> Result<Rest, Error> {
    let solver = NewtonCG::new(MoreThuenteLineSearch::new()).with_tolerance(tolerance * SCALE)?;
    let Rest { minimum, recordings } = run(Chain::new(&start, SCALE), solver, start)?;
    Ok(Rest { minimum: Minimum { value: minimum.value / SCALE, ..minimum }, recordings })
}

fn run<H>(chain: Chain, solver: impl Solver<Chain, Kept<H>>, start: Vec<f64>) -> Result<Rest, Error> {
    let kept = chain.clone();
    let state =
        Executor::new(chain, solver).configure(|state| state.param(start).max_iters(500)).timer(false).run()?.state;
    let minimum = finished(&state, kept.calls.get());
    Ok(Rest { minimum, recordings: kept.energy.recordings() })
}
