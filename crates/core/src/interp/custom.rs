//! What functions with rules of their own compute: tensors below the level that they run in.

use super::Level;
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::sync::Arc;

pub(super) fn cloned(operands: &[&Tensor]) -> Vec<Tensor> {
    operands.iter().map(|&operand| operand.clone()).collect()
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
