//! The program that computes an expression and its gradient, before and after the passes.

use super::report::{Body, Section};
use crate::expression::Traced;
use wengert::prelude::*;
use wengert::program::PASSES;

/// The traced program, and its text after every pass that changes it. Without a seed it has no gradient.
pub fn program(traced: &Traced, point: &[(String, Tensor)], seed: Option<&Tensor>) -> Section {
    let inputs: Vec<Tensor> = point.iter().map(|(_, tensor)| tensor.clone()).collect();
    let (what, program) = match seed {
        None => ("the value", compile(|inputs: &Vec<Tensor>| traced.call(inputs)).program(&inputs)),
        Some(seed) => {
            let both = |inputs: &Vec<Tensor>| {
                let (value, pullback) = vjp(|inputs: &Vec<Tensor>| traced.call(inputs), inputs);
                (value, pullback.call(seed))
            };
            ("the value and the gradient", compile(both).program(&inputs))
        }
    };
    let (optimised, mut texts) = (program.optimised().to_string(), vec![("traced".into(), program.to_string())]);
    let mut add = |name: &str, text: String| {
        if texts.last().is_none_or(|(_, last)| *last != text) {
            texts.push((format!("after {name}"), text));
        }
    };
    PASSES.iter().fold(program, |program, pass| {
        let program = pass.run(program);
        add(pass.name, program.to_string());
        program
    });
    add("further rounds of passes", optimised);
    let heading = format!("Program: what `compile` makes of {what}, and what its passes make of that.");
    Section { key: "program", heading, body: Body::Texts(texts) }
}
