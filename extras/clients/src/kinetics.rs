//! diffsol: a stiff reaction, with our Jacobian-vector products.
//!
//! Robertson's problem (1966): `A -> B` with constant `k1`, `B + C -> A + C` with `k2`, `2 B -> B + C` with `k3`, so
//!
//! ```text
//! a' = -k1 a + k2 b c        b' = k1 a - k2 b c - k3 b^2        c' = k3 b^2
//! ```
//!
//! The constants are 0.04, 1e4 and 3e7: B appears and disappears within a thousandth of the time scale of A, so an implicit method is
//! needed. It uses `(df/dy) v` in its Newton iterations, and `(df/dp) v` to propagate sensitivities: `s' = (df/dy) s + df/dp`. Both are
//! forward pushes through one recording. The parameters are the logarithms of the constants, so that the sensitivities to all of them have
//! similar magnitudes.

use diffsol::error::DiffsolError;
use diffsol::{
    MatrixCommon, NalgebraContext, NalgebraLU, NalgebraMat, NalgebraVec, OdeBuilder, OdeEquationsImplicitSens,
    OdeSolverMethod, OdeSolverProblem, SensitivitiesOdeSolverMethod, VectorHost,
};
use std::array::from_fn;
use std::cell::Cell;
use wengert::scalar::{Real, Replay, Symbol};

/// The constants of the three reactions.
pub const CONSTANTS: [f64; 3] = [0.04, 1e4, 3e7];

/// Names of the three substances.
pub const NAMES: [&str; 3] = ["A", "B", "C"];

/// The rates of change of the three amounts; `numbers` are the amounts and the logarithms of the constants.
///
/// ```
/// use wengert_clients::kinetics::rates;
/// // Constants of 1. Nothing is lost: the rates add up to 0.
/// assert_eq!(rates(&[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]), [5.0, -9.0, 4.0]);
/// ```
pub fn rates<T: Real>(numbers: &[T]) -> [T; 3] {
    let [a, b, c, k1, k2, k3] = from_fn(|i| if i < 3 { numbers[i] } else { numbers[i].exp() });
    let (decay, exchange, growth) = (k1 * a, k2 * b * c, k3 * b * b);
    [exchange - decay, decay - exchange - growth, growth]
}

/// The number of calls by the solver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Rates.
    pub rates: usize,
    /// Products with the Jacobian with respect to the amounts.
    pub by_amounts: usize,
    /// Products with the Jacobian with respect to the parameters.
    pub by_parameters: usize,
}

/// The recorded rates, behind the shared references that diffsol's closures have.
struct Recorded {
    rates: Replay,
    calls: Cell<Calls>,
}

type Vector = NalgebraVec<f64>;

impl Recorded {
    fn new(start: [f64; 3], parameters: [f64; 3]) -> Recorded {
        let numbers = [start, parameters].concat();
        Recorded { rates: Replay::record(rates::<Symbol>, &numbers).boxed(), calls: Cell::default() }
    }

    fn count(&self, counter: impl FnOnce(&mut Calls) -> &mut usize) {
        let mut now = self.calls.get();
        *counter(&mut now) += 1;
        self.calls.set(now);
    }

    fn at(&self, y: &Vector, p: &Vector, rates: &mut Vector) {
        self.count(|calls| &mut calls.rates);
        self.rates.values(&joined(y.as_slice(), p.as_slice()), rates.as_mut_slice());
    }

    fn by_amounts(&self, y: &Vector, p: &Vector, v: &Vector, product: &mut Vector) {
        self.count(|calls| &mut calls.by_amounts);
        self.push(y, p, &joined(v.as_slice(), &[0.0; 3]), product);
    }

    fn by_parameters(&self, y: &Vector, p: &Vector, v: &Vector, product: &mut Vector) {
        self.count(|calls| &mut calls.by_parameters);
        self.push(y, p, &joined(&[0.0; 3], v.as_slice()), product);
    }

    fn push(&self, y: &Vector, p: &Vector, direction: &[f64; 6], product: &mut Vector) {
        self.rates.jvp(&joined(y.as_slice(), p.as_slice()), direction, product.as_mut_slice());
    }
}

fn joined(amounts: &[f64], parameters: &[f64]) -> [f64; 6] {
    from_fn(|i| if i < 3 { amounts[i] } else { parameters[i - 3] })
}

/// The course of the reaction, and its cost.
#[derive(Clone, Debug)]
pub struct Course {
    /// The three amounts, at each time.
    pub amounts: Vec<[f64; 3]>,
    /// Their derivatives with respect to the logarithm of each constant, at each time: `sensitivities[time][constant][substance]`. Empty if
    /// they were not requested.
    pub sensitivities: Vec<[[f64; 3]; 3]>,
    /// The calls by the solver.
    pub calls: Calls,
    /// The number of recordings of the rates.
    pub recordings: usize,
}

/// The reaction, with the interface of diffsol: initially all A.
fn problem<'r>(
    recorded: &'r Recorded,
    parameters: [f64; 3],
    tolerance: f64,
) -> Result<
    OdeSolverProblem<
        impl OdeEquationsImplicitSens<M = NalgebraMat<f64>, V = Vector, T = f64, C = NalgebraContext> + 'r,
    >,
    DiffsolError,
> {
    // A decays as 1 / t, and B is a few millionths of it: both end far below an absolute tolerance that would be suitable at first.
    let absolute = [tolerance * 1e-6, tolerance * 1e-10, tolerance];
    OdeBuilder::<NalgebraMat<f64>>::new()
        .p(parameters)
        .rtol(tolerance)
        .atol(absolute)
        .sens_rtol(tolerance)
        .sens_atol(absolute)
        .rhs_sens_implicit(
            |y: &Vector, p: &Vector, _, rates: &mut Vector| recorded.at(y, p, rates),
            |y: &Vector, p: &Vector, _, v: &Vector, product: &mut Vector| recorded.by_amounts(y, p, v, product),
            |y: &Vector, p: &Vector, _, v: &Vector, product: &mut Vector| recorded.by_parameters(y, p, v, product),
        )
        .init_sens(
            |_: &Vector, _, y: &mut Vector| y.as_mut_slice().copy_from_slice(&START),
            |_: &Vector, _, _: &Vector, product: &mut Vector| product.as_mut_slice().fill(0.0),
            3,
        )
        .build()
}

const START: [f64; 3] = [1.0, 0.0, 0.0];

/// The columns of a matrix as arrays.
fn columns(matrix: &NalgebraMat<f64>) -> Vec<[f64; 3]> {
    matrix.inner().column_iter().map(|column| from_fn(|i| column[i])).collect()
}

/// The amounts at increasing times, by backward differentiation formulas of orders 1 to 5.
pub fn course(constants: [f64; 3], times: &[f64], tolerance: f64) -> Result<Course, DiffsolError> {
    let parameters = constants.map(f64::ln);
    let recorded = Recorded::new(START, parameters);
    let problem = problem(&recorded, parameters, tolerance)?;
    let (amounts, _) = problem.bdf::<NalgebraLU<f64>>()?.solve_dense(times)?;
    Ok(told(&recorded, columns(&amounts), Vec::new()))
}

/// The amounts with their derivatives with respect to the logarithms of the constants.
pub fn course_with_sensitivities(constants: [f64; 3], times: &[f64], tolerance: f64) -> Result<Course, DiffsolError> {
    let parameters = constants.map(f64::ln);
    let recorded = Recorded::new(START, parameters);
    let problem = problem(&recorded, parameters, tolerance)?;
    let (amounts, by_constants, _) = problem.bdf_sens::<NalgebraLU<f64>>()?.solve_dense_sensitivities(times)?;
    let by_constants: Vec<_> = by_constants.iter().map(columns).collect();
    let sensitivities = (0..times.len()).map(|time| from_fn(|constant| by_constants[constant][time])).collect();
    Ok(told(&recorded, columns(&amounts), sensitivities))
}

fn told(recorded: &Recorded, amounts: Vec<[f64; 3]>, sensitivities: Vec<[[f64; 3]; 3]>) -> Course {
    let recordings = recorded.rates.recordings();
    Course { amounts, sensitivities, calls: recorded.calls.get(), recordings }
}
