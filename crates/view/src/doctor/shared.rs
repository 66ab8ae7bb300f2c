//! Parameters that are in a tree twice.

use super::finding::{Fault, Finding};
use super::trial::{Parameter, Trial};
use wengert_engine::Line;

pub(super) fn findings(trial: &Trial, tied: &[[String; 2]]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, one) in trial.parameters.iter().enumerate() {
        for other in &trial.parameters[place + 1..] {
            let names = [&one.name, &other.name];
            let is_declared = tied.iter().any(|pair| names.iter().all(|name| pair.contains(name)));
            if !is_declared && shares(one, other) {
                found.push(finding(one, other, trial.first_use(other)));
            }
        }
    }
    found
}

/// Whether two leaves are the same memory. Single numbers have none of their own, so for these nothing can be said.
fn shares(one: &Parameter, other: &Parameter) -> bool {
    let (one, other) = (&one.given, &other.given);
    one.elements() > 1
        && one.spec() == other.spec()
        && one.is_contiguous()
        && other.is_contiguous()
        && one.as_bytes().as_ptr() == other.as_bytes().as_ptr()
}

fn finding(one: &Parameter, other: &Parameter, line: Line) -> Finding {
    Finding {
        fault: Fault::Shared,
        parameters: vec![one.name.clone(), other.name.clone()],
        operation: None,
        line: Some(line),
        message: format!("`{}` and `{}` are the same tensor, with a gradient for each place", one.name, other.name),
        suggestion: "keep it in one field if it is one parameter; otherwise declare it with Doctor::tied".to_string(),
    }
}
