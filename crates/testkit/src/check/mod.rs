//! `check`: tests everything about one primitive, from its cases.
//!
//! Each part of the check is one function in one of the files here. The parts only compare. One place below decides which parts apply, from
//! the declarations of the primitive and the case.

mod batching;
mod derivatives;
mod dtypes;
mod jets;
mod layouts;
mod memory;
mod saves;
mod sparsity;
mod staging;
mod structure;
mod subject;
mod values;

use crate::caught::caught;
use crate::numeric;
use crate::report::{Aspect, Failure, Report};
use subject::Subject;
use wengert::prelude::*;
use wengert::primitive::{Dependency, Primitive};

/// Checks a primitive on its cases.
///
/// # Panics
/// If any check fails, with a list of the failures.
///
/// ```
/// use wengert::primitive::find;
/// wengert_testkit::check(find("matmul").unwrap());
/// ```
#[track_caller]
pub fn check(op: &'static dyn Primitive) -> Report {
    try_check(op).unwrap_or_else(|failures| {
        let lines: Vec<String> = failures.iter().take(SHOWN).map(|failure| format!("\n  {failure}")).collect();
        let more = failures.len().saturating_sub(SHOWN);
        let rest = if more > 0 { format!("\n  and {more} more") } else { String::new() };
        panic!("{} is wrong in {} ways:{}{rest}", op.name(), failures.len(), lines.concat())
    })
}

/// The number of failures that a panic shows.
const SHOWN: usize = 30;

/// Checks a primitive on its cases; returns the failures as a list.
///
/// ```
/// use wengert::primitive::find;
/// assert!(wengert_testkit::try_check(find("svd").unwrap()).is_ok());
/// ```
pub fn try_check(op: &'static dyn Primitive) -> Result<Report, Vec<Failure>> {
    let mut trial = Trial { report: Report::new(op), failures: Vec::new(), label: String::new(), seen: Vec::new() };
    trial.part(Aspect::Structure, |trial| structure::identity(trial, op));
    let cases = op.cases();
    let mut derived = false;
    for case in &cases {
        trial.label.clone_from(&case.label);
        trial.part(Aspect::Structure, |trial| structure::declarations(trial, op, case));
        trial.part(Aspect::Structure, |trial| structure::attributes(trial, op, case));
        let mut subject = None;
        trial.part(Aspect::Value, |trial| subject = values::value(trial, op, case));
        if let Some(subject) = subject {
            derived |= subject.is_derivable();
            check_case(&mut trial, &subject);
        }
        trial.end_case();
    }
    trial.label.clear();
    trial.holds(Aspect::Structure, !cases.is_empty(), || "there is no case".into());
    trial.holds(Aspect::Structure, derived || !op.differentiable(), || {
        "it is differentiable, and no case is smooth with f64 results, so no derivative was checked".into()
    });
    match trial.failures.is_empty() {
        true => Ok(trial.report),
        false => Err(trial.failures),
    }
}

fn check_case(trial: &mut Trial, subject: &Subject<'_>) {
    trial.part(Aspect::Structure, |trial| structure::errors(trial, subject));
    if !subject.is_typed() {
        trial.part(Aspect::Dtypes, |trial| dtypes::values(trial, subject));
    }
    trial.part(Aspect::Strided, |trial| layouts::values(trial, subject));
    trial.part(Aspect::Memory, |trial| memory::memory(trial, subject));
    trial.part(Aspect::Batch, |trial| batching::values(trial, subject));
    trial.part(Aspect::Compiled, |trial| staging::compiled_value(trial, subject));
    if subject.floats.is_empty() {
        return;
    }
    if !subject.op.differentiable() || subject.float_outputs.is_empty() {
        trial.part(Aspect::Structure, |trial| structure::no_gradient(trial, subject));
        return;
    }
    // At kinks and boundaries the rules must still agree with each other, and preserve zeros.
    trial.part(Aspect::Compiled, |trial| staging::compiled_gradient(trial, subject));
    trial.part(Aspect::Saves, |trial| saves::saves(trial, subject));
    if subject.op.dependency() == Dependency::Elementwise {
        trial.part(Aspect::Vjp, |trial| derivatives::outside(trial, subject));
    }
    if subject.is_derivable() || subject.op.dependency() == Dependency::Elementwise {
        trial.part(Aspect::ZeroCotangent, |trial| saves::zero_cotangent(trial, subject));
    }
    if !subject.is_derivable() {
        return;
    }
    trial.part(Aspect::Structure, |trial| structure::classes(trial, subject));
    if !subject.is_typed() {
        trial.part(Aspect::Dtypes, |trial| dtypes::derivatives(trial, subject));
    }
    trial.part(Aspect::Strided, |trial| layouts::derivatives(trial, subject));
    trial.part(Aspect::Jvp, |trial| derivatives::jvp(trial, subject));
    trial.part(Aspect::Vjp, |trial| derivatives::vjp(trial, subject));
    trial.part(Aspect::SecondOrder, |trial| derivatives::second_order(trial, subject));
    trial.part(Aspect::Jet, |trial| jets::jets(trial, subject));
    trial.part(Aspect::Batch, |trial| batching::gradients(trial, subject));
    trial.part(Aspect::Batch, |trial| batching::seeds(trial, subject));
    trial.part(Aspect::Sparsity, |trial| sparsity::pattern(trial, subject));
    trial.part(Aspect::Imperative, |trial| staging::imperative(trial, subject));
}

/// A check in progress: the comparisons made, and the failures.
pub(crate) struct Trial {
    report: Report,
    failures: Vec<Failure>,
    label: String,
    /// The aspects that the current case exercised.
    seen: Vec<Aspect>,
}

impl Trial {
    /// Runs one part; an error or a panic in it is a failure of `aspect`.
    fn part(&mut self, aspect: Aspect, body: impl FnOnce(&mut Trial)) {
        if let Err(message) = caught(|| body(self)) {
            self.fail(aspect, message);
        }
    }

    fn fail(&mut self, aspect: Aspect, message: String) {
        let (operation, case) = (self.report.name(), self.label.clone());
        self.failures.push(Failure { operation, case, aspect, message });
    }

    /// Records whether a condition holds.
    fn holds(&mut self, aspect: Aspect, holds: bool, message: impl FnOnce() -> String) {
        self.report.count_comparison(aspect);
        if !self.seen.contains(&aspect) {
            self.seen.push(aspect);
        }
        if !holds {
            self.fail(aspect, message());
        }
    }

    /// Records whether two tensors agree to `tolerance`, relative to the larger of 1 and each element.
    fn same(&mut self, aspect: Aspect, what: &str, got: &Tensor, expected: &Tensor, tolerance: f64) {
        let found = numeric::difference(got, expected, tolerance);
        self.holds(aspect, found.is_none(), || format!("{what} {}", found.unwrap_or_default()));
    }

    /// Records whether two lists of tensors agree.
    fn all_same(&mut self, aspect: Aspect, what: &str, got: &[Tensor], expected: &[Tensor], tolerance: f64) {
        self.holds(aspect, got.len() == expected.len(), || {
            format!("{what}: {} tensors, should be {}", got.len(), expected.len())
        });
        for (position, (got, expected)) in got.iter().zip(expected).enumerate() {
            self.same(aspect, &format!("{what} {position}"), got, expected, tolerance);
        }
    }

    fn end_case(&mut self) {
        for aspect in self.seen.drain(..) {
            self.report.count_case(aspect);
        }
    }
}
