//! Shared by all operations that run programs.
//!
//! A body is closed: tensors captured by a closure become operands of the call, except constants. Derivative bodies are built by tracing
//! the derivative of a step ([`through`]), and cached with the body that they belong to.

#[doc(hidden)]
pub mod branches;
mod forms;
mod independent_rows;
#[doc(hidden)]
pub mod masked;
#[doc(hidden)]
pub mod repeat;
mod runner;
#[doc(hidden)]
pub mod steps;
#[doc(hidden)]
pub mod through;

#[doc(hidden)]
pub use forms::{Flow, ScanForm, WhileForm};
#[doc(hidden)]
pub use independent_rows::Parts;
#[doc(hidden)]
pub use runner::BodyRunner;

use crate::primitive::Spec;
use crate::program::Program;
use crate::tree::difference;
use crate::{Error, ErrorKind, Tensor, Tree};

/// The indices where `flags` is true.
pub fn places(flags: &[bool]) -> Vec<usize> {
    (0..flags.len()).filter(|&place| flags[place]).collect()
}

/// The tensors at these indices.
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

/// The spec of `count` of these, stacked along a new leading axis.
pub fn stacked(spec: &Spec, count: usize) -> Spec {
    Spec { shape: spec.shape.prepended(count), dtype: spec.dtype }
}

/// Makes operands of a loop contiguous once, as every step reads them; a repeated number takes no memory.
pub fn laid_out(operands: &[Tensor]) -> Vec<Tensor> {
    let lay_out = |operand: &Tensor| match operand.is_plain() && operand.splatted().is_none() {
        true => operand.contiguous(),
        false => operand.clone(),
    };
    operands.iter().map(lay_out).collect()
}

/// Checks that the carry of a loop keeps its structure, shapes and dtypes.
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

/// The first leaf whose spec differs between two trees of one structure: its path in words, and both specs.
pub fn other_spec<T: Tree>(one: &T, other: &T) -> Option<(String, Spec, Spec)> {
    let mut pairs = one.named_leaves().into_iter().zip(other.leaves());
    let ((path, one), other) = pairs.find(|((_, one), other)| one.spec() != other.spec())?;
    let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
    Some((at, one.spec(), other.spec()))
}
