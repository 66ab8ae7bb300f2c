//! Which operation made a NaN.

use super::derivatives::Values;
use super::report::{Body, Section};
use crate::expression::{Fault, Traced, Tree};
use wengert::autograd::detect_anomaly;
use wengert::prelude::*;

const OUTSIDE: &str = "an operand lies outside the domain of this operation or at its border, or infinities cancel";

/// An expression at a point.
pub struct Known<'e> {
    pub tree: &'e Tree,
    pub traced: &'e Traced,
    pub point: &'e [(String, Tensor)],
}

impl Known<'_> {
    /// The first operation of the run, or the first rule of the sweep back from `seed`, that made a NaN from numbers without one.
    pub fn of_gradient(&self, seed: Option<&Tensor>) -> Fault {
        let inputs = self.inputs();
        if let (Err(fault), _) = detect_anomaly(|| self.tree.evaluate(&inputs)) {
            return fault.help(OUTSIDE);
        }
        self.first(|| {
            let leaves: Vec<Tensor> = inputs.iter().map(|tensor| tensor.clone().require_grad()).collect();
            let options = seed.into_iter().fold(Backward::new(), Backward::seed);
            detect_anomaly(|| self.traced.call(&leaves).backward_with(options));
        })
    }

    /// The first operation with a NaN in the program of these derivatives.
    pub fn of_derivatives(&self, values: Values<'_>) -> Fault {
        let run = compile(values).debug().run(&self.inputs());
        let first = run.steps().find(|step| step.outputs().any(|(_, value)| has_nan(value)));
        let place = first.and_then(|step| step.equation().line).and_then(|line| self.tree.place_of(line));
        Fault::new("a derivative of this operation is NaN here").at(place).help(OUTSIDE)
    }

    fn inputs(&self) -> Vec<Tensor> {
        self.point.iter().map(|(_, tensor)| tensor.clone()).collect()
    }

    fn first(&self, run: impl FnOnce()) -> Fault {
        match catch(run) {
            Err(error) => Fault::of(&error).at(error.line().and_then(|line| self.tree.place_of(line))).help(OUTSIDE),
            Ok(()) => Fault::new("no operation made it: infinite contributions to a derivative cancel"),
        }
    }
}

/// The fault as a part of the report.
pub fn section(fault: &Fault, source: &str) -> Section {
    Section { key: "nan", heading: "There is a NaN:".into(), body: Body::Text(fault.text(source)) }
}

pub fn has_nan(tensor: &Tensor) -> bool {
    tensor.to_f64_vec().iter().any(|number| number.is_nan())
}
