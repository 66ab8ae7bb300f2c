//! Newton's method for minimising `f(x)` subject to `c(x) = 0`.
//!
//! At the solution there are multipliers with `f' + J^T lambda = 0`, where J is the Jacobian of c. One step solves the linearised
//! equations, with the Hessian H of `f + lambda c`:
//!
//! ```text
//! (H + shift  J^T) (step  )     (f')
//! (J          0  ) (lambda) = - (c )
//! ```
//!
//! The shift is the first of 0, 1e-4, 1e-3 .. for which the Hessian is positive definite along the constraints and the step, or a half or
//! quarter of it, decreases `f + weight |c|` enough, where the weight is twice the largest multiplier. A straight step along a curved
//! surface `c = 0` leaves it, and would have to be short, so the difference of c from its linearisation is corrected with the same matrix.

use super::Banded;
use wengert::scalar::{Real, Replay, SparseHessian, SparseJacobian, Symbol};

/// A function to minimise, with constraints.
pub trait Program {
    /// The objective, then the constraints.
    fn at<T: Real>(&self, x: &[T]) -> Vec<T>;

    /// The position of each unknown, and then of each multiplier, in the linear system, such that its matrix is a narrow band.
    fn order(&self) -> Vec<usize>;
}

/// A record of one step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The objective before the step.
    pub value: f64,
    /// The largest component of the Lagrangian's gradient and the largest constraint before the step.
    pub residuals: [f64; 2],
    /// The shift added to the diagonal of the Hessian.
    pub shift: f64,
    /// The fraction of the step that was taken.
    pub length: f64,
}

/// Where the method stopped.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The unknowns.
    pub x: Vec<f64>,
    /// A multiplier for each constraint.
    pub multipliers: Vec<f64>,
    /// The objective.
    pub value: f64,
    /// Whether both residuals are below the tolerance.
    pub converged: bool,
    /// The steps taken.
    pub steps: Vec<Step>,
    /// The number of entries of the Jacobian, and of the lower triangle of the Hessian.
    pub entries: [usize; 2],
    /// The number of products with a vector that give all entries of the Jacobian, and of the Hessian.
    pub seeds: [usize; 2],
}

const MOST_STEPS: usize = 200;
/// The shifts to try after zero: the first, and their number; each is ten times the previous one.
const FIRST_SHIFT: f64 = 1e-4;
const SHIFTS: i32 = 12;
/// The fractions of a step to try before the next shift.
const LENGTHS: [f64; 3] = [1.0, 0.5, 0.25];
/// A negative value that replaces the zeros on the diagonal when pivots are counted.
const PERTURBATION: f64 = 1e-8;

/// The entries of a sparse matrix.
struct Entries {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl Entries {
    fn zeros((rows, columns): (&[usize], &[usize])) -> Entries {
        Entries { rows: rows.to_vec(), columns: columns.to_vec(), values: vec![0.0; rows.len()] }
    }

    fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let places = self.rows.iter().zip(&self.columns);
        places.zip(&self.values).map(|((row, column), value)| (*row, *column, *value))
    }
}

/// The linear system of one step.
struct System {
    jacobian: Entries,
    /// The entries on and below the diagonal.
    hessian: Entries,
    order: Vec<usize>,
    unknowns: usize,
    width: usize,
}

impl System {
    fn new(jacobian: Entries, hessian: Entries, order: Vec<usize>, unknowns: usize) -> System {
        let first = jacobian.iter().map(|(row, column, _)| order[unknowns + row].abs_diff(order[column]));
        let second = hessian.iter().map(|(row, column, _)| order[row].abs_diff(order[column]));
        let width = first.chain(second).max().unwrap_or(0);
        System { jacobian, hessian, order, unknowns, width }
    }

    fn matrix(&self, shift: f64) -> Banded {
        let mut matrix = Banded::zeros(self.order.len(), self.width);
        let mut add = |row: usize, column: usize, value: f64| matrix.add(self.order[row], self.order[column], value);
        for (row, column, value) in self.hessian.iter() {
            add(row, column, value);
            if row != column {
                add(column, row, value);
            }
        }
        (0..self.unknowns).for_each(|number| add(number, number, shift));
        for (row, column, value) in self.jacobian.iter() {
            add(self.unknowns + row, column, value);
            add(column, self.unknowns + row, value);
        }
        matrix
    }

    /// Whether the shifted Hessian is positive definite along the constraints: then the matrix has as many negative eigenvalues as there
    /// are constraints.
    fn is_convex(&self, shift: f64) -> bool {
        let (mut matrix, multipliers) = (self.matrix(shift), &self.order[self.unknowns..]);
        multipliers.iter().for_each(|place| matrix.add(*place, *place, -PERTURBATION));
        matrix.negative_pivots() == multipliers.len()
    }

    /// The step and multipliers for the negative of this right-hand side.
    fn solve(&self, shift: f64, gradient: &[f64], constraints: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let mut right = vec![0.0; self.order.len()];
        gradient.iter().chain(constraints).zip(&self.order).for_each(|(number, place)| right[*place] = -number);
        let solution = self.matrix(shift).solve(right)?;
        let mut step: Vec<f64> = self.order.iter().map(|place| solution[*place]).collect();
        let multipliers = step.split_off(self.unknowns);
        Some((step, multipliers))
    }
}

/// Finds a local minimum near `start`.
pub fn minimize<P: Program>(program: &P, start: Vec<f64>, tolerance: f64) -> Solution {
    let objective = Replay::record(|x: &[Symbol]| program.at(x)[0], &start);
    let jacobian = SparseJacobian::record(|x: &[Symbol]| program.at(x).split_off(1), &start);
    let hessian = SparseHessian::record(|x: &[Symbol]| program.at(x), &start);
    let entries = [jacobian.triplets(), hessian.triplets()].map(Entries::zeros);
    let counts = [entries[0].rows.len(), entries[1].rows.len()];
    let [first, second] = entries;
    let mut system = System::new(first, second, program.order(), start.len());
    let mut gradient = vec![0.0; start.len()];
    let mut multipliers = vec![0.0; system.order.len() - start.len()];
    let (mut x, mut steps) = (start, Vec::new());
    loop {
        let value = objective.value_and_grad(&x, &mut gradient);
        let constraints = program.at(&x).split_off(1);
        jacobian.values(&x, &mut system.jacobian.values);
        let mut lagrangian = gradient.clone();
        system.jacobian.iter().for_each(|(row, column, slope)| lagrangian[column] += multipliers[row] * slope);
        let residuals = [largest(&lagrangian), largest(&constraints)];
        let converged = residuals.iter().all(|residual| *residual < tolerance);
        hessian.lagrangian(&x, 1.0, &multipliers, &mut system.hessian.values);

        let tried = |shift: f64| {
            let (step, next) = Some(shift)
                .filter(|shift| system.is_convex(*shift))
                .and_then(|shift| system.solve(shift, &gradient, &constraints))?;
            let weight = 2.0 * largest(&next);
            let merit = |numbers: &[f64]| numbers[0] + weight * numbers[1..].iter().map(|c| c.abs()).sum::<f64>();
            let before = merit(&program.at(&x));
            let decrease = before - value - dot(&gradient, &step);
            let bent = |length: f64| {
                let straight = plus(&x, length, &step);
                let beyond = plus(&program.at(&straight)[1..], length - 1.0, &constraints);
                let (back, _) = system.solve(shift, &vec![0.0; x.len()], &beyond)?;
                let x = plus(&straight, 1.0, &back);
                // Near the solution the merit function is only known up to rounding.
                let most = before - 1e-4 * length * decrease + 1e-13 * before.abs();
                (decrease >= 0.0 && merit(&program.at(&x)) <= most).then_some((length, x))
            };
            let (length, x) = LENGTHS.into_iter().find_map(bent)?;
            let multipliers = plus(&multipliers, length, &plus(&next, -1.0, &multipliers));
            Some((Step { value, residuals, shift, length }, x, multipliers))
        };
        let shifts = (0..SHIFTS).map(|number| FIRST_SHIFT * 10f64.powi(number));
        let mut shifts = std::iter::once(0.0).chain(shifts);
        let is_over = converged || steps.len() == MOST_STEPS;
        let Some((step, moved, next)) = (!is_over).then(|| shifts.find_map(tried)).flatten() else {
            let seeds = [jacobian.seeds(), hessian.seeds()];
            return Solution { x, multipliers, value, converged, steps, entries: counts, seeds };
        };
        (x, multipliers) = (moved, next);
        steps.push(step);
    }
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |most, number| number.abs().max(most))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `a + factor b`.
fn plus(a: &[f64], factor: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + factor * b).collect()
}
