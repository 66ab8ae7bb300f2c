//! Which operation made a NaN.

use super::report::{Body, Section};
use crate::expression::{Fault, Traced, Tree};
use wengert::autograd::detect_anomaly;
use wengert::prelude::*;

/// The first operation of the run, or the first rule of the sweep back from `seed`, that made a NaN from numbers without one.
pub fn explain(
    tree: &Tree,
    source: &str,
    traced: &Traced,
    point: &[(String, Tensor)],
    seed: Option<&Tensor>,
) -> Section {
    let inputs: Vec<Tensor> = point.iter().map(|(_, tensor)| tensor.clone()).collect();
    let (forward, _) = detect_anomaly(|| tree.evaluate(&inputs));
    let backward = || {
        let leaves: Vec<Tensor> = inputs.iter().map(|tensor| tensor.clone().require_grad()).collect();
        let options = seed.into_iter().fold(Backward::new(), Backward::seed);
        catch(|| detect_anomaly(|| traced.call(&leaves).backward_with(options)))
    };
    let outside = "an operand lies outside the domain of this operation or at its border, or infinities cancel";
    let fault = match forward {
        Err(fault) => fault.help(outside),
        Ok(_) => match backward() {
            Err(error) => Fault::of(&error).at(error.line().and_then(|line| tree.place_of(line))).help(outside),
            Ok(_) => Fault::new("no operation made it: infinite contributions to a gradient cancel"),
        },
    };
    Section { key: "nan", heading: "There is a NaN:".into(), body: Body::Text(fault.text(source)) }
}
