//! Calls of functions with rules of their own: what every interpreter does with one.

use super::{Content, Level, LevelKind, Node, OpenLevel, Tracer, batch, tangent, tape};
use crate::autograd::{modes, packing};
use crate::bind::try_bind;
use crate::custom::{Batched, attrs_of, recorded};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Function, Mask, Outputs, Primitive};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// A call whose operands have `level` as their highest, or none.
pub fn apply(
    level: Option<&Arc<Level>>,
    function: &Arc<dyn Function>,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let Some(level) = level else {
        let linked = modes::records_tape() && operands.iter().any(|operand| operand.link.is_some());
        return match linked {
            true => record_imperative(function, op, attrs, operands, line),
            // Where nothing is recorded, a leaf is a number like others.
            false => {
                let call = || Ok(Outputs::from(function.call(&plain(operands))));
                let outputs = match modes::is_packing() && op.effect(attrs) {
                    true => packing::once(0, op, call)?,
                    false => call()?,
                };
                let is_captured = modes::records_tape() && outputs.iter().any(|output| output.link.is_some());
                if is_captured { Err(captured(function.name(), "imperative tape")) } else { Ok(outputs) }
            }
        };
    };
    match &level.kind {
        LevelKind::Reverse => record(level, function, op, attrs, operands, line),
        LevelKind::Tangent => push(level, function, operands, line),
        LevelKind::Batch { size } => {
            let parts = operands.iter().map(|operand| match Tracer::at(operand, level) {
                Some(Content::Batch { values }) => (values, true),
                _ => (*operand, false),
            });
            let (values, lifted): (SmallVec<[&Tensor; 4]>, SmallVec<[bool; 4]>) = parts.unzip();
            let mut outputs = match function.batches_in_front() && lifted.iter().all(|lifted| *lifted) {
                true => try_bind(op, attrs.clone(), &values, line)?,
                false => {
                    let batched = Mask::of(lifted.len(), |position| lifted[position]);
                    let function = Arc::new(Batched { function: function.clone(), size: *size, batched });
                    try_bind(op, attrs_of(function), &values, line)?
                }
            };
            expect_below(level, function.name(), outputs.iter())?;
            outputs.iter_mut().for_each(|output| *output = batch::lift(level, output, line));
            Ok(outputs)
        }
        LevelKind::Other(interpreter) => interpreter.apply_function(level, function, op, attrs, operands, line),
    }
}

fn cloned(operands: &[&Tensor]) -> Vec<Tensor> {
    operands.iter().map(|&operand| operand.clone()).collect()
}

fn plain(operands: &[&Tensor]) -> Vec<Tensor> {
    operands.iter().map(|operand| operand.plain()).collect()
}

fn record_imperative(
    function: &Arc<dyn Function>,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let (mut outputs, residual) = function.forward(&plain(operands));
    if outputs.iter().any(|output| output.link.is_some()) {
        return Err(captured(function.name(), "imperative tape"));
    }
    let results = outputs.len();
    let attrs = recorded(attrs, operands.len(), results, &residual, true);
    outputs.extend(residual.tensors);
    let node = Node::operation(op, attrs, line, |i| operands[i].link.as_ref(), operands, &outputs, 0);
    outputs.truncate(results);
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        output.link = Some(node.output_record(position));
    }
    Ok(outputs.into())
}

fn record(
    level: &Arc<Level>,
    function: &Arc<dyn Function>,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let parts = tape::parts_of(level, operands);
    let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
    let (mut outputs, residual) = function.forward(&cloned(&primals));
    expect_below(level, function.name(), outputs.iter().chain(&residual.tensors))?;
    let results = outputs.len();
    let attrs = recorded(attrs, operands.len(), results, &residual, false);
    outputs.extend(residual.tensors);
    let node = Node::operation(op, attrs, line, |i| parts[i].1, &primals, &outputs, level.id);
    outputs.truncate(results);
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        *output = tape::lift(level, output, node.output_record(position), line);
    }
    Ok(outputs.into())
}

fn push(level: &Arc<Level>, function: &Arc<dyn Function>, operands: &[&Tensor], line: Line) -> Result<Outputs, Error> {
    let parts = operands.iter().map(|operand| match Tracer::at(operand, level) {
        Some(Content::Tangent { primal, tangent }) => (primal.clone(), Some(tangent.clone())),
        _ => ((*operand).clone(), None),
    });
    let (primals, tangents): (Vec<Tensor>, Vec<Option<Tensor>>) = parts.unzip();
    let (mut outputs, residual) = function.forward(&primals);
    let pushed = function.push(&residual, &tangents);
    expect_below(level, function.name(), outputs.iter().chain(pushed.iter().flatten()))?;
    for (output, tangent) in outputs.iter_mut().zip(pushed) {
        if let Some(tangent) = tangent.filter(|_| output.dtype().is_float()) {
            *output = tangent::lift(level, output, tangent, line);
        }
    }
    Ok(outputs.into())
}

/// Operands on a level of their own: whatever is computed from them is a tensor that is no other, whatever its numbers.
pub struct Apart {
    level: OpenLevel,
    pub operands: Vec<Tensor>,
}

impl Apart {
    pub fn new(x: &[Tensor]) -> Apart {
        let line = location::resolve(Line::caller());
        let level = Level::open("custom_vjp", LevelKind::Reverse, line);
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
