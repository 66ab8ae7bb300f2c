//! Functions with custom derivative rules.
//!
//! A rule of a primitive sees attributes, operands and saved values. Here a call stands for a whole function on the leaves of trees. Its
//! forward pass leaves its residual as a list of tensors, so that every level can lift, save and batch them.

mod attr;
mod batched;
mod numeric;

pub use crate::primitive::{Form, Function, Residual};
pub use attr::{FunctionAttr, attrs_of, recorded, staged};
pub use batched::Batched;
pub use numeric::{Numeric, completed};

use crate::bind::try_bind;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::{
    Adjoints, Attrs, Device, Gradient, Gradients, Mask, Outputs, Primitive, Rule, Saves, Spec, SpecRef, Specs,
};
use crate::transform::vjp;
use crate::{Error, Tensor};
use attr::{attr, counts};
use std::sync::Arc;

/// The primitive that stands for a call of any function.
pub struct Custom;

pub static CUSTOM: Custom = Custom;

/// Calls a function, recorded at the caller's line.
#[track_caller]
pub fn bind_function(function: Arc<dyn Function>, operands: &[Tensor]) -> Vec<Tensor> {
    let line = location::resolve(Line::caller());
    let operands: Vec<&Tensor> = operands.iter().collect();
    try_bind(&CUSTOM, attrs_of(function), &operands, line).or_raise().into_vec()
}

fn residual(rule: &Rule<'_>) -> Residual {
    let [_, results, left] = counts(rule.attrs);
    let tensors = (results..results + left).map(|position| rule.output(position).clone()).collect();
    Residual { tensors, form: attr(rule.attrs).form.clone().expect("a recorded call has run") }
}

impl Primitive for Custom {
    fn name(&self) -> &'static str {
        "custom"
    }

    fn operands(&self) -> usize {
        0
    }

    fn accepts(&self, _count: usize) -> bool {
        true
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["function", "counts"]
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        let [_, results, left] = counts(attrs);
        results + left
    }

    fn function<'a>(&self, attrs: &'a Attrs) -> Option<&'a Arc<dyn Function>> {
        Some(&attr(attrs).function)
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(attr(attrs).function.infer(operands))
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let operands: Vec<Tensor> = operands.iter().map(|&operand| operand.clone()).collect();
        Ok(attr(attrs).function.call(&operands).into())
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        let [operands, results, left] = counts(attrs);
        Saves::NOTHING.operands(Mask::first_of(operands)).outputs((results..results + left).collect())
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let function = &attr(rule.attrs).function;
        let [operands, results, _] = counts(rule.attrs);
        let (of_results, of_residual) = cotangents.split_at(results);
        let mut gradients = vec![None; operands];
        if of_results.iter().any(Option::is_some) {
            gradients = function.pull(&residual(rule), of_results, rule.wanted());
        }
        // The residual is an output too: a sweep that is itself differentiated returns through it.
        if of_residual.iter().any(Option::is_some) {
            let x: Vec<Tensor> = (0..operands).map(|position| rule.operand(position).clone()).collect();
            let (left, pullback) = vjp(|x: &Vec<Tensor>| function.forward(x).1.tensors, &x);
            let seeds =
                left.iter().zip(of_residual).map(|(left, seed)| seed.clone().unwrap_or_else(|| left.zeros_like()));
            let more = pullback.call_named(&seeds.collect());
            gradients = gradients.into_iter().zip(more).map(|(sum, (_, more))| added(sum, more)).collect();
        }
        gradients.into_iter().map(|gradient| gradient.map_or(Gradient::Zero, Gradient::Dense)).collect()
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let [_, _, left] = counts(rule.attrs);
        let pushed = attr(rule.attrs).function.push(&residual(rule), tangents);
        pushed.into_iter().chain(std::iter::repeat_n(None, left)).collect()
    }

    fn rule_text(&self) -> &'static str {
        "as the function says"
    }
}

pub fn added(a: Option<Tensor>, b: Option<Tensor>) -> Option<Tensor> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
