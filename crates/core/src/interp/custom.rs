//! What functions with rules of their own compute: tensors below the level that they run in.

use super::tape::{self, Reverse};
use super::{Content, Level, Node, OpenLevel, Tracer};
use crate::location::{self, Line};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::sync::Arc;

pub(super) fn cloned(operands: &[&Tensor]) -> Vec<Tensor> {
    operands.iter().map(|&operand| operand.clone()).collect()
}

/// Operands on a level of their own: whatever is computed from them is a tensor that is no other, whatever its numbers.
pub struct Apart {
    level: OpenLevel,
    pub operands: Vec<Tensor>,
}

impl Apart {
    pub fn new(x: &[Tensor]) -> Apart {
        let line = location::resolve(Line::caller());
        let level = Level::open("custom_vjp", Reverse, line);
        let lift = |x: &Tensor| match x.dtype().is_float() {
            true => tape::lift(&level.0, x, Node::leaf(line), line),
            false => x.clone(),
        };
        let operands = x.iter().map(lift).collect();
        Apart { level, operands }
    }

    /// Whether a tensor was computed from the operands.
    pub fn is_of(&self, tensor: &Tensor) -> bool {
        Tracer::at(tensor, &self.level.0).is_some()
    }

    /// The tensors on the levels below.
    pub fn below(&self, tensors: Vec<Tensor>) -> Vec<Tensor> {
        let below = |tensor: Tensor| match Tracer::at(&tensor, &self.level.0) {
            Some(Content::Reverse { primal, .. }) => primal.clone(),
            _ => tensor,
        };
        tensors.into_iter().map(below).collect()
    }
}

/// What a rule computes from tensors below a level lies below it, unless it captured others.
pub fn expect_below<'t>(
    level: &Arc<Level>,
    name: &str,
    mut tensors: impl Iterator<Item = &'t Tensor>,
) -> Result<(), Error> {
    let above = |tensor: &Tensor| matches!(&tensor.value, Value::Tracer(tracer) if tracer.level.id >= level.id);
    if tensors.any(above) { Err(captured(name, level.name)) } else { Ok(()) }
}

pub fn captured(name: &str, by: &str) -> Error {
    let message = format!("the function captured a tensor of the {by} that it runs in");
    Error::new(ErrorKind::WrongLevel, name, message)
        .help("make it an input of the function; what is captured is a constant to its rule")
}
