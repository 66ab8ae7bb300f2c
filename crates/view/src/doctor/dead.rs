//! Operations that turn cotangents into zeros, rectifiers among them.

use super::finding::{Fault, Finding};
use super::trial::{Step, Trial};
use wengert_engine::Tensor;

/// Operations that are constant on one side of a number.
const RECTIFIERS: [&str; 4] = ["relu", "relu6", "threshold", "hardtanh"];

fn is_zero(tensor: &Tensor) -> bool {
    tensor.elements() > 0 && tensor.to_f64_vec().iter().all(|number| *number == 0.0)
}

pub(super) fn findings(trial: &Trial) -> Vec<Finding> {
    let dies = |step: &Step<'_>| !is_zero(step.adjoint) && is_zero(step.contribution);
    // Parameters that still have a gradient, by another way, are not concerned.
    let zero = |name: &String| {
        let parameter = trial.parameters.iter().find(|parameter| parameter.name == *name);
        parameter.and_then(|parameter| parameter.leaf.grad()).is_some_and(|gradient| is_zero(&gradient))
    };
    let finding = |step: Step<'_>| {
        let parameters: Vec<String> = trial.parameters_below(step.operand).into_iter().filter(zero).collect();
        let operation = step.row.operation.clone();
        let is_rectifier = RECTIFIERS.iter().any(|name| operation.starts_with(name));
        (!parameters.is_empty()).then(|| Finding {
            fault: if is_rectifier { Fault::DeadRectifier } else { Fault::Zero },
            parameters,
            line: Some(step.row.line),
            message: match is_rectifier {
                true => format!("all {} elements of {operation} are on its flat side", step.adjoint.elements()),
                false => {
                    format!("{operation} passes no gradient on: all {} elements are 0", step.contribution.elements())
                }
            },
            operation: Some(operation),
            suggestion: match is_rectifier {
                true => "begin with smaller or positive biases, or use leaky_relu".to_string(),
                false => "its operand has no influence here: is it multiplied by 0, or rounded?".to_string(),
            },
        })
    };
    trial.steps().filter(dies).filter_map(finding).collect()
}
