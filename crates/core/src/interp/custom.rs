//! Checks on the tensors that functions with custom rules compute: they must lie below the level that the functions run in.

use super::{Content, Level};
use crate::primitive::{Function, SpecRef};
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

/// Checks the results of a call on concrete tensors: they belong to no transform, unless the function captured tensors that do.
pub(super) fn expect_concrete(
    function: &Arc<dyn Function>,
    operands: &[&Tensor],
    outputs: &[Tensor],
) -> Result<(), Error> {
    let tracer = |output: &Tensor| match &output.value {
        Value::Tracer(tracer) => Some(tracer.clone()),
        _ => None,
    };
    match outputs.iter().find_map(tracer) {
        None => Ok(()),
        // In a program, operations with an effect are equations even if their operands are constants. A trial raises an error for captures
        // alone.
        Some(tracer) if matches!(tracer.content, Content::Symbol { .. }) => {
            let specs: Vec<SpecRef<'_>> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
            function.infer(&specs);
            Ok(())
        }
        Some(tracer) => Err(captured(function.name(), tracer.level.name)),
    }
}

/// The error for a closure that captures a tensor of `by`: the name of a transform, or the tape.
pub fn captured(name: &str, by: &str) -> Error {
    let tensor = match by {
        "imperative tape" => "that requires a gradient".to_string(),
        "vmap" => "that the surrounding `vmap` is batching".to_string(),
        "compile" | "scan" | "while_loop" => format!("that the surrounding `{by}` is tracing"),
        by if by.contains(' ') => format!("of the surrounding {by}"),
        by => format!("that the surrounding `{by}` is differentiating"),
    };
    let help = match name {
        "custom_vjp" => {
            "make it an input, and return it as a residual if `backward` needs it: captured tensors are constants to the rule"
        }
        _ => "make it an input of the function: captured tensors are constants to the rule",
    };
    Error::new(ErrorKind::WrongLevel, name, format!("the closure captures a tensor {tensor}")).help(help)
}
