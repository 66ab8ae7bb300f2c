//! The imperative tape: values with a link. Its records lie below every level.

use super::custom::{captured, expect_concrete};
use super::{Node, eval};
use crate::autograd::{modes, packing};
use crate::custom::recorded;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Function, Mask, Outputs, Primitive, Recording};
use crate::{Error, Tensor};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Computes and records.
#[inline]
pub fn apply(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor], line: Line) -> Result<Outputs, Error> {
    if modes::is_packing() && op.differentiable() {
        let wanted = Mask::of(operands.len(), |i| operands[i].link.is_some());
        packing::expect(0, (op.name(), &attrs), operands, op.saves(&attrs, wanted));
    }
    let mut outputs = eval::apply_once(op, &attrs, operands)?;
    if !op.records() || !outputs.iter().any(|output| output.dtype().is_float()) {
        modes::note_stop(op.name(), operands, line);
        return Ok(outputs);
    }
    let node = Node::operation(op, attrs, line, |i| operands[i].link.as_ref(), operands, &outputs, 0);
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        output.link = Some(node.output_record(position));
    }
    if modes::records_values() {
        record_values(&node, operands, &outputs);
    }
    Ok(outputs)
}

/// Keeps the values of a call for the tape listing, which shows leaves too.
#[cold]
fn record_values(node: &Node, operands: &[&Tensor], outputs: &[Tensor]) {
    let leaf = |operand: &&&Tensor| operand.link.is_some() && operand.is_leaf();
    operands.iter().filter(leaf).for_each(|operand| record_value(operand));
    node.extras_or_new(|extras| {
        extras.records_values = true;
        extras.operands = plain(operands);
    });
    outputs.iter().for_each(record_value);
}

/// Records a call whose only output, of a float dtype, came from a shortcut.
#[inline]
pub fn record_short(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor], output: &mut Tensor, line: Line) {
    output.link = Some(Node::short_operation(op, attrs, line, operands, output));
}

/// Records an in-place update of memory that is handed over; it copies if a rule or a listing needs the old value.
pub fn apply_in_place(
    op: &'static dyn Primitive,
    attrs: Attrs,
    mut target: Tensor,
    rest: &[&Tensor],
    line: Line,
) -> Result<Tensor, Error> {
    let link = target.link.take();
    let edge = |i: usize| if i == 0 { link.as_ref() } else { rest[i - 1].link.as_ref() };
    let saves = op.saves(&attrs, Mask::of(rest.len() + 1, |i| edge(i).is_some()));
    if saves.operands.has(0) || saves.residual || modes::records_values() {
        target.link = link;
        let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
        return Ok(apply(op, attrs, &operands, line)?.pop().expect("one output"));
    }
    let outputs: Outputs = smallvec![eval::apply_in_place(op, &attrs, target, rest)?];
    // Only the shape of the first operand can be needed, and it did not change.
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&outputs[0]).chain(rest.iter().copied()).collect();
    let node = Node::operation(op, attrs, line, edge, &operands, &outputs, 0);
    Ok(Tensor { value: outputs[0].value.clone(), link: Some(node), slot: None })
}

fn record_value(tensor: &Tensor) {
    if let Some(node) = &tensor.link {
        node.extras_or_new(|extras| {
            extras.records_values = true;
            extras.value.get_or_insert_with(|| tensor.plain());
        });
    }
}

/// Calls a function with custom rules.
pub fn apply_function(
    function: &Arc<dyn Function>,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    if modes::records_tape() && operands.iter().any(|operand| operand.link.is_some()) {
        return record_function(function, op, attrs, operands, line);
    }
    // If nothing is recorded, a leaf is an ordinary value.
    let call = || Ok(Outputs::from(function.call(&plain(operands))));
    let outputs = match modes::is_packing() && op.effect(attrs) {
        true => packing::once(0, (op, attrs), call)?,
        false => call()?,
    };
    expect_concrete(function, operands, &outputs)?;
    let is_captured = modes::records_tape() && outputs.iter().any(|output| output.link.is_some());
    if is_captured { Err(captured(function.name(), "imperative tape")) } else { Ok(outputs) }
}

fn plain(operands: &[&Tensor]) -> Vec<Tensor> {
    operands.iter().map(|operand| operand.plain()).collect()
}

fn record_function(
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
    if modes::records_values() {
        record_values(&node, operands, &outputs);
    }
    Ok(outputs.into())
}

/// Calls an operation that carries programs.
pub fn apply_control(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let numbers = plain(operands);
    let numbers: SmallVec<[&Tensor; 4]> = numbers.iter().collect();
    let run = |attrs: Attrs, operands: &[&Tensor]| eval::apply_once(op, &attrs, operands);
    let outputs = record_control(0, op, &attrs, &numbers, |i| operands[i].link.as_ref(), line, run)?;
    Ok(outputs.into_iter().map(|(output, link)| Tensor { link, ..output }).collect())
}

/// The outputs of an operation that carries programs, which `run` applies, and the records of the outputs that have one.
pub fn record_control<'e>(
    level: u64,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    primals: &[&Tensor],
    edge: impl Fn(usize) -> Option<&'e Arc<Node>>,
    line: Line,
    run: impl Fn(Attrs, &[&Tensor]) -> Result<Outputs, Error>,
) -> Result<Vec<(Tensor, Option<Arc<Node>>)>, Error> {
    let wanted = Mask::of(primals.len(), |position| edge(position).is_some());
    let recording = {
        let _line = location::inherit(Some(line));
        op.control().expect("it carries programs").record(attrs, wanted)
    };
    let Some(Recording { call, more, record, reached }) = recording else {
        return Ok(run(attrs.clone(), primals)?.into_iter().map(|output| (output, None)).collect());
    };
    if modes::is_packing() {
        // Programs among the attributes are traced anew in every run, so they are not compared.
        packing::expect(level, (op.name(), &Attrs::new()), primals, op.saves(&record, wanted));
    }
    let operands: SmallVec<[&Tensor; 4]> = primals.iter().copied().chain(&more).collect();
    let mut outputs = run(call, &operands)?;
    let node = Node::operation(op, record, line, edge, primals, &outputs, level);
    outputs.truncate(reached.len());
    let place = |(position, output): (usize, Tensor)| {
        let node = reached[position].then(|| node.output_record(position));
        (output, node)
    };
    Ok(outputs.into_iter().enumerate().map(place).collect())
}
