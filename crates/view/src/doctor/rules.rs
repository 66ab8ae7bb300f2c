//! Rules that disagree with finite differences of their own operation.

use super::finding::{Fault, Finding};
use super::trial::{Trial, is_finite};
use wengert_engine::autograd::{TapeRow, no_grad};
use wengert_engine::methods::*;
use wengert_engine::{DType, Key, Tensor, catch};

/// A relative difference that neither rounding nor curvature explains.
const TOLERANCE: f64 = 1e-2;
/// Steps, relative to an operand. A kink may spoil one of them.
const STEPS: [f64; 3] = [1e-4, 3e-5, 1e-5];

pub(super) fn findings(trial: &Trial) -> Vec<Finding> {
    (0..trial.tape.rows().len()).rev().filter_map(|place| finding(trial, place)).collect()
}

fn finding(trial: &Trial, place: usize) -> Option<Finding> {
    let (row, adjoints) = (&trial.tape.rows()[place], trial.adjoints(place));
    let is_measured = !row.inputs.is_empty() && row.inputs.iter().all(is_finite);
    if adjoints.is_empty() || !is_measured || !adjoints.iter().all(|(_, adjoint)| is_finite(adjoint)) {
        return None;
    }
    let edges = trial.operands(row).zip(&row.contributions).enumerate();
    for (position, (operand, contribution)) in edges {
        let (Some(operand), Some(contribution)) = (operand, contribution) else { continue };
        let direction = Key::new(position as u64).normal(contribution.shape(), DType::F64);
        let told = sum_of_products(contribution, &direction);
        let seen = STEPS.map(|step| Difference::of(row, position, &direction, &adjoints, step));
        let seen: Vec<Difference> = seen.into_iter().flatten().collect();
        let scale = sum_of_products(&contribution.abs(), &direction.abs());
        let differs = |seen: &Difference| {
            let relative = TOLERANCE * seen.value.abs().max(told.abs());
            (seen.value - told).abs() > relative + 1e-3 * scale + seen.uncertainty
        };
        if !seen.is_empty() && is_finite(contribution) && seen.iter().all(differs) {
            return Some(Finding {
                fault: Fault::WrongRule,
                parameters: trial.parameters_below(operand),
                operation: Some(row.operation.clone()),
                line: Some(row.line),
                message: format!(
                    "the rule of {} gives {told:.6} in a direction of operand {position}, finite differences {:.6}",
                    row.operation,
                    seen[seen.len() - 1].value
                ),
                suggestion: "correct the rule, unless it is meant to differ from the derivative".to_string(),
            });
        }
    }
    None
}

fn sum_of_products(a: &Tensor, b: &Tensor) -> f64 {
    a.to_f64_vec().iter().zip(b.to_f64_vec()).map(|(a, b)| a * b).sum()
}

/// A central difference of an operation in f64, weighted by the adjoints of its outputs.
struct Difference {
    value: f64,
    /// What rounding can make of it, here and in the rule, when its terms cancel.
    uncertainty: f64,
}

impl Difference {
    /// Along a direction of one operand. `None` if the operation cannot be called so.
    fn of(
        row: &TapeRow,
        position: usize,
        direction: &Tensor,
        adjoints: &[(usize, &Tensor)],
        step: f64,
    ) -> Option<Difference> {
        let operand = row.inputs.get(position)?.cast(DType::F64);
        let size = operand.to_f64_vec().iter().fold(1e-3f64, |size, number| size.max(number.abs()));
        let step = step * size;
        let at = |step: f64| {
            let inputs = row.inputs.iter().enumerate().map(|(place, input)| match place == position {
                true => &operand + direction * step,
                false if input.dtype().is_float() => input.cast(DType::F64),
                false => input.clone(),
            });
            catch(|| no_grad(|| row.call(&inputs.collect::<Vec<Tensor>>()))).and_then(|outputs| outputs).ok()
        };
        let (above, below) = (at(step)?, at(-step)?);
        let mut difference = Difference { value: 0.0, uncertainty: 0.0 };
        for (position, adjoint) in adjoints {
            let (above, below) = (above.get(*position)?, below.get(*position)?);
            if above.shape() != adjoint.shape() || !is_finite(above) || !is_finite(below) {
                return None;
            }
            for ((adjoint, above), below) in adjoint.to_f64_vec().iter().zip(above.to_f64_vec()).zip(below.to_f64_vec())
            {
                let slope = (above - below) / (2.0 * step);
                difference.value += adjoint * slope;
                difference.uncertainty += adjoint.abs() * (1e-5 * slope.abs() + 1e-14 * above.abs() / step);
            }
        }
        Some(difference)
    }
}
