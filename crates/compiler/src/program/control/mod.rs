//! What operations that carry programs share.
//!
//! A body is closed: whatever a closure captured is an operand of the call, constants aside. Derivative bodies are made by tracing
//! the derivative of a step ([`through`]) and kept beside the body that they belong to.

#[doc(hidden)]
pub mod branches;
#[doc(hidden)]
pub mod repeat;
mod rows;
#[doc(hidden)]
pub mod steps;
#[doc(hidden)]
pub mod through;

#[doc(hidden)]
pub use rows::Parts;

use crate::autograd::modes;
use crate::location::Line;
use crate::plan::{Host, Input, Plan, Runner, Target, TiledLoops, runner};
use crate::primitive::Spec;
use crate::program::{Program, ProgramAttr, Wish};
use crate::tree::difference;
use crate::{Error, ErrorKind, Tensor, Tree};
use smallvec::SmallVec;
use std::sync::Arc;

/// How an operation runs the programs that it carries.
pub enum Flow {
    /// Over the leading axis of elements.
    Scan(steps::Form),
    /// As long as a test says.
    While(repeat::Form),
    /// One of several, by an index.
    Switch(Vec<ProgramAttr>),
}

/// The places where `flags` holds.
pub fn places(flags: &[bool]) -> Vec<usize> {
    (0..flags.len()).filter(|&place| flags[place]).collect()
}

/// The tensors at these places.
pub fn pick(tensors: &[Tensor], places: &[usize]) -> Vec<Tensor> {
    places.iter().map(|&place| tensors[place].clone()).collect()
}

/// The specs of a program's inputs.
pub fn input_specs(program: &Program) -> Vec<Spec> {
    program.inputs().iter().map(|var| program.spec(*var).clone()).collect()
}

/// The specs of a program's outputs.
pub fn output_specs(program: &Program) -> Vec<Spec> {
    program.outputs().iter().map(|var| program.spec(*var).clone()).collect()
}

/// The spec of `count` of these along a new axis in front.
pub fn stacked(spec: &Spec, count: usize) -> Spec {
    Spec { shape: spec.shape.prepended(count), dtype: spec.dtype }
}

/// A body that is about to run, once or many times: on numbers by its plan, which is made once, on tensors of other levels by its
/// equations.
pub struct BodyRunner<'a> {
    body: &'a ProgramAttr,
    plan: Option<Arc<Host<TiledLoops>>>,
}

impl<'a> BodyRunner<'a> {
    /// For inputs of the levels that `inputs` have.
    pub fn new(body: &'a ProgramAttr, inputs: &[Tensor]) -> BodyRunner<'a> {
        let on_numbers = !modes::detects_anomalies() && inputs.iter().all(Tensor::is_plain);
        let wish = Wish { what: "plan", inputs: Vec::new(), numbers: Vec::new() };
        let plan = on_numbers.then(|| {
            body.derived(wish, |body| {
                let body = body.optimised();
                runner(Plan::new(&body, vec![None; body.outputs().len()], &Target::CPU))
            })
        });
        BodyRunner { body, plan }
    }

    /// The outputs.
    pub fn run(&self, inputs: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        let Some(plan) = &self.plan else { return self.body.evaluate_at(inputs, line) };
        let inputs: SmallVec<[Tensor; 8]> = inputs.iter().map(Tensor::contiguous).collect();
        let mut outputs: Vec<Tensor> =
            self.body.outputs().iter().map(|var| Tensor::blank(self.body.spec(*var))).collect();
        plan.run(&mut inputs.iter().map(Input::Read), &mut outputs.iter_mut(), line)?;
        Ok(outputs)
    }
}

/// Operands of a loop, laid out once as every step reads them; a repeated number takes no memory.
pub fn laid_out(operands: &[Tensor]) -> Vec<Tensor> {
    let lay_out = |operand: &Tensor| match operand.is_plain() && operand.splatted().is_none() {
        true => operand.contiguous(),
        false => operand.clone(),
    };
    operands.iter().map(lay_out).collect()
}

/// A loop goes on with what it began with: the same structure, shapes and dtypes.
pub fn expect_carry<C: Tree>(name: &str, out: &C, init: &C) -> Result<(), Error> {
    if let Some(text) = difference(init, out) {
        let message = format!("the carry has another structure after a step than before it: {text}");
        return Err(Error::new(ErrorKind::Tree, name, message));
    }
    let Some((at, before, after)) = other_spec(init, out) else { return Ok(()) };
    let message = format!("the carry{at} is {before} before a step and {after} after it");
    Err(Error::new(ErrorKind::Tree, name, message)
        .help("begin with the shape and dtype that the body returns, or convert what it returns"))
}

/// The first leaf whose spec differs between two trees of one structure: where, in words, and both specs.
pub fn other_spec<T: Tree>(one: &T, other: &T) -> Option<(String, Spec, Spec)> {
    let mut pairs = one.named_leaves().into_iter().zip(other.leaves());
    let ((path, one), other) = pairs.find(|((_, one), other)| one.spec() != other.spec())?;
    let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
    Some((at, one.spec(), other.spec()))
}
