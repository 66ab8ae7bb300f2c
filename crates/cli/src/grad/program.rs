//! The program that computes an expression and its gradient, before and after the passes.

use super::recording::Recording;
use super::report::{Body, Section};
use crate::expression::Traced;
use wengert::prelude::*;
use wengert::view::{Explorer, Stage, run, stages};

/// The traced program, and its text after every pass that changes it. Without a seed it has no gradient.
pub fn program(traced: &Traced, point: &[(String, Tensor)], seed: Option<&Tensor>) -> Section {
    let what = if seed.is_some() { "the value and the gradient" } else { "the value" };
    let stages = stages(&compiled(traced, seed).program(&inputs(point)));
    let texts = stages.into_iter().map(|Stage { name, text, .. }| (name, text)).collect();
    let heading = format!("Program: what `compile` makes of {what}, and what its passes make of that.");
    Section { key: "program", heading, body: Body::Texts(texts) }
}

/// The tape and the program, with all values, the plan and the passes, as a page.
pub fn page(
    recording: &Recording,
    expression: &str,
    traced: &Traced,
    point: &[(String, Tensor)],
    seed: Option<&Tensor>,
) -> String {
    let (compiled, inputs) = (compiled(traced, seed), inputs(point));
    let run_of_program = compiled.debug().run(&inputs);
    let explorer = Explorer::new(recording.graph(expression)).and(run(&run_of_program));
    explorer.plan(&compiled.plan(&inputs)).passes(run_of_program.program()).html()
}

fn inputs(point: &[(String, Tensor)]) -> Vec<Tensor> {
    point.iter().map(|(_, tensor)| tensor.clone()).collect()
}

/// The value and, with a seed, the gradient as a compiled function.
fn compiled<'t>(
    traced: &'t Traced,
    seed: Option<&'t Tensor>,
) -> Compiled<Vec<Tensor>, Vec<Tensor>, impl Fn(&Vec<Tensor>) -> Vec<Tensor> + 't> {
    compile(move |inputs: &Vec<Tensor>| {
        let Some(seed) = seed else { return vec![traced.call(inputs)] };
        let (value, pullback) = vjp(|inputs: &Vec<Tensor>| traced.call(inputs), inputs);
        [vec![value], pullback.call(seed)].concat()
    })
}
