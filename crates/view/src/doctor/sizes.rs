//! Gradients that vanish or explode.

use super::finding::{Fault, Finding};
use super::trial::{Step, Trial, norm};

/// An operation that makes a cotangent this much smaller is named.
const VANISHES: f64 = 1e-7;
/// An operation that makes a cotangent this much larger is named.
const EXPLODES: f64 = 1e4;
/// A cotangent that became so small on its way, by many operations, has vanished.
const FADES: f64 = 1e-10;

pub(super) fn findings(trial: &Trial) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut faded: Option<Finding> = None;
    // What many elements share gets the sum of their cotangents, which may cancel, as for a bias before a normalisation.
    let is_sum = |step: &Step<'_>| trial.is_leaf(step.operand) || step.row.operation.starts_with("broadcast");
    for step in trial.steps().filter(|step| !is_sum(step)) {
        let (before, after) = (norm(step.adjoint), norm(step.contribution));
        let is_measured = before > 0.0 && after > 0.0 && before.is_finite() && after.is_finite();
        let parameters = trial.parameters_below(step.operand);
        if !is_measured || parameters.is_empty() {
            continue;
        }
        if after < VANISHES * before || after > EXPLODES * before {
            found.push(jump(&step, after / before, parameters));
        } else if after < FADES && found.is_empty() && faded.is_none() {
            faded = Some(fading(&step, after, parameters));
        }
    }
    found.into_iter().chain(faded).collect()
}

fn jump(step: &Step<'_>, ratio: f64, parameters: Vec<String>) -> Finding {
    let is_small = ratio < 1.0;
    let operation = &step.row.operation;
    let (what, suggestion) = match is_small {
        true => ("smaller", "scale its other operand up, or normalise before it"),
        false => ("larger", "scale its other operand down, normalise before it, or clip gradients"),
    };
    Finding {
        fault: if is_small { Fault::Vanishing } else { Fault::Exploding },
        parameters,
        line: Some(step.row.line),
        message: format!("{operation} makes the gradient {what}, {ratio:.1e} times"),
        operation: Some(operation.clone()),
        suggestion: suggestion.to_string(),
    }
}

fn fading(step: &Step<'_>, size: f64, parameters: Vec<String>) -> Finding {
    Finding {
        fault: Fault::Vanishing,
        parameters,
        operation: Some(step.row.operation.clone()),
        line: Some(step.row.line),
        message: format!("the gradient becomes smaller with every operation, and is {size:.1e} from here on"),
        suggestion: "shorten the way: residual connections, normalisation, a gated recurrence, another initialisation"
            .to_string(),
    }
}
