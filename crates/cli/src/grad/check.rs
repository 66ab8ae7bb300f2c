//! Derivatives beside finite differences.

use super::report::{Body, Section};
use crate::expression::Traced;
use std::collections::BTreeMap;
use wengert::prelude::*;

/// The report of `gradcheck`, and whether all derivatives agree where the function is smooth.
pub fn check(traced: &Traced, point: &[(String, Tensor)]) -> (Section, bool) {
    // A map, so that the report calls the inputs by their names.
    let inputs: BTreeMap<String, Tensor> = point.iter().cloned().collect();
    let function = |inputs: &BTreeMap<String, Tensor>| {
        traced.call(&point.iter().map(|(name, _)| inputs[name].clone()).collect::<Vec<_>>())
    };
    let (report, agrees) = match gradcheck(function, &inputs) {
        Ok(report) => (report, true),
        Err(mismatch) => (mismatch.report().clone(), false),
    };
    let heading = "Check: derivatives in reverse and forward mode beside finite differences.".into();
    (Section { key: "check", heading, body: Body::Text(report.to_string()) }, agrees)
}
