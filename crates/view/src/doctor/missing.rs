//! Parameters that receive no gradient, and why.

use super::finding::{Fault, Finding};
use super::trial::{Parameter, Trial};
use wengert_engine::autograd::{GradientStop, Tape};

pub(super) fn findings(trial: &Trial) -> Vec<Finding> {
    // The records below each operand at which gradients stop.
    let cut: Vec<(&GradientStop, Tape)> = trial.stops.iter().map(|stop| (stop, Tape::of(&stop.operand))).collect();
    let without = |parameter: &&Parameter| !parameter.is_frozen && parameter.leaf.grad().is_none();
    trial.parameters.iter().filter(without).map(|parameter| finding(trial, parameter, &cut)).collect()
}

fn finding(trial: &Trial, parameter: &Parameter, cut: &[(&GradientStop, Tape)]) -> Finding {
    let name = &parameter.name;
    let parameters = vec![name.clone()];
    if !parameter.leaf.dtype().is_float() {
        return Finding {
            fault: Fault::Integer,
            parameters,
            operation: None,
            line: Some(trial.line()),
            message: format!("`{name}` is {}, which has no gradient", parameter.leaf.spec()),
            suggestion: "freeze it, mark its field #[tree(static)], or cast it to a float".to_string(),
        };
    }
    let leads_here = |(_, tape): &&(&GradientStop, Tape)| tape.rows().iter().any(|row| row.is_of(&parameter.leaf));
    match cut.iter().find(leads_here) {
        Some((stop, _)) => {
            let operation = if stop.operation == "stop_gradient" { "detach" } else { stop.operation };
            let why = if stop.under_no_grad { ", under no_grad," } else { "" };
            Finding {
                fault: Fault::Detached,
                parameters,
                operation: Some(operation.to_string()),
                line: Some(stop.line),
                message: format!("no gradient reaches `{name}`: {operation}{why} separates it from the loss"),
                suggestion: "remove it, or freeze the parameter if it is not to be trained".to_string(),
            }
        }
        None => Finding {
            fault: Fault::Unused,
            parameters,
            operation: None,
            line: Some(trial.line()),
            message: format!("the loss does not depend on `{name}`"),
            suggestion: "use it, or remove it; a number read with item() or to_vec() is a constant".to_string(),
        },
    }
}
