//! The first value, and the first cotangent, that is not finite.

use super::finding::{Fault, Finding};
use super::trial::{Step, Trial, is_finite};
use wengert_engine::Tensor;
use wengert_engine::autograd::TapeRow;

pub(super) fn findings(trial: &Trial) -> Vec<Finding> {
    forward(trial).into_iter().chain(backward(trial)).collect()
}

/// The place and the value of the first element that is not finite.
fn first(tensor: &Tensor) -> Option<(Vec<usize>, f64)> {
    let (place, number) = tensor.to_f64_vec().into_iter().enumerate().find(|(_, number)| !number.is_finite())?;
    let mut rest = place;
    let mut index: Vec<usize> = tensor.shape().iter().rev().map(|size| (rest % size, rest /= size).0).collect();
    index.reverse();
    Some((index, number))
}

/// The elements of the operands at an index, where they have the shape of the result or are single numbers.
fn operands_at(row: &TapeRow, value: &Tensor, index: &[usize]) -> String {
    let place = index.iter().zip(value.shape()).fold(0, |place, (i, size)| place * size + i);
    let element = |operand: &Tensor| {
        let same = operand.shape() == value.shape();
        let numbers = (same || operand.elements() == 1).then(|| operand.to_f64_vec())?;
        Some(numbers[if same { place } else { 0 }].to_string())
    };
    let elements: Vec<String> = row.inputs.iter().filter_map(element).collect();
    if elements.is_empty() { String::new() } else { format!(" from {}", elements.join(" and ")) }
}

fn at(index: &[usize]) -> String {
    if index.is_empty() { String::new() } else { format!(" at {index:?}") }
}

fn forward(trial: &Trial) -> Option<Finding> {
    let made =
        |row: &&TapeRow| row.value.as_ref().is_some_and(|value| !is_finite(value)) && row.inputs.iter().all(is_finite);
    let row = trial.tape.rows().iter().find(made)?;
    let value = row.value.as_ref()?;
    let (index, number) = first(value)?;
    let from = operands_at(row, value, &index);
    Some(Finding {
        fault: Fault::NotFinite,
        parameters: Vec::new(),
        operation: Some(row.operation.clone()),
        line: Some(row.line),
        message: format!("{} gives {number}{}{from}", row.operation, at(&index)),
        suggestion: "keep its operand inside the domain, or mask elements before the operation".to_string(),
    })
}

fn backward(trial: &Trial) -> Option<Finding> {
    let step = trial.steps().find(|step| is_finite(step.adjoint) && !is_finite(step.contribution))?;
    let Step { row, position, operand, contribution, .. } = step;
    let (index, number) = first(contribution)?;
    // The contribution has the shape of the operand.
    let value = row.inputs.get(position).map(Tensor::to_f64_vec);
    let place = index.iter().zip(contribution.shape()).fold(0, |place, (i, size)| place * size + i);
    let value = value.and_then(|numbers| numbers.get(place).copied());
    let value = value.map(|value| format!(", where the operand is {value}")).unwrap_or_default();
    Some(Finding {
        fault: Fault::GradientNotFinite,
        parameters: trial.parameters_below(operand),
        operation: Some(row.operation.clone()),
        line: Some(row.line),
        message: format!("the rule of {} gives {number}{}{value}", row.operation, at(&index)),
        suggestion: "the derivative is infinite or undefined there: keep the operand away from that point".to_string(),
    })
}
