//! Checks on the tensors that functions with custom rules compute: they must lie below the level that the functions run in.

use super::Level;
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::sync::Arc;

pub(super) fn cloned(operands: &[&Tensor]) -> Vec<Tensor> {
    operands.iter().map(|&operand| operand.clone()).collect()
}

/// Checks that tensors lie below a level. Results of a rule do, unless the rule captured other tensors.
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
