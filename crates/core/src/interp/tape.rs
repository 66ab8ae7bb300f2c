//! The reverse interpreter: compute below, and record what the rules will need.

use super::{Content, Level, Node, Tracer, eval};
use crate::autograd::{modes, packing};
use crate::bind::try_bind;
use crate::location::Line;
use crate::primitive::{Attrs, Mask, Outputs, Primitive};
use crate::{Error, Tensor};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Records on the imperative tape, whose tensors are numbers with a link.
#[inline]
pub fn apply_imperative(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    if modes::is_packing() && op.differentiable() {
        let wanted = Mask::of(operands.len(), |i| operands[i].link.is_some());
        packing::expect(0, operands, op.saves(&attrs, wanted));
    }
    let mut outputs = eval::apply_once(op, &attrs, operands)?;
    if !op.differentiable() || !outputs.iter().any(|output| output.dtype().is_float()) {
        return Ok(outputs);
    }
    let node = Node::operation(op, attrs, line, |i| operands[i].link.as_ref(), operands, &outputs, 0);
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        output.link = Some(node.output_record(position));
    }
    if modes::records_values() {
        let leaf = |operand: &&&Tensor| operand.link.is_some() && operand.is_leaf();
        operands.iter().filter(leaf).for_each(|operand| record_value(operand));
        node.extras_or_new(|extras| extras.records_values = true);
        outputs.iter().for_each(record_value);
    }
    Ok(outputs)
}

/// Records a call whose only output came from a shortcut; those belong to differentiable primitives.
#[inline]
pub fn record_short(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor], output: &mut Tensor, line: Line) {
    output.link = Some(Node::short_operation(op, attrs, line, operands, output));
}

/// Records an update of memory that is handed over; a rule or a listing that needs the old value makes it a copy.
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
        return Ok(apply_imperative(op, attrs, &operands, line)?.pop().expect("one output"));
    }
    let outputs: Outputs = smallvec![eval::apply_in_place(op, &attrs, target, rest)?];
    // Only the shape of the first operand can be asked for, and that did not change.
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&outputs[0]).chain(rest.iter().copied()).collect();
    let node = Node::operation(op, attrs, line, edge, &operands, &outputs, 0);
    Ok(Tensor { value: outputs[0].value.clone(), link: Some(node), slot: None })
}

/// Keeps the value for the listing of the tape, which shows leaves too.
#[cold]
fn record_value(tensor: &Tensor) {
    if let Some(node) = &tensor.link {
        node.extras_or_new(|extras| {
            extras.records_values = true;
            extras.value.get_or_insert_with(|| tensor.plain());
        });
    }
}

/// Records for one transform, whose tensors are tracers over tensors of lower level.
pub fn apply(
    level: &Arc<Level>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let parts = parts_of(level, operands);
    let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
    if modes::is_packing() && op.differentiable() {
        packing::expect(level.id, &primals, op.saves(&attrs, Mask::of(parts.len(), |i| parts[i].1.is_some())));
    }
    let mut outputs = try_bind(op, attrs.clone(), &primals, line)?;
    if !op.differentiable() || !outputs.iter().any(|output| output.dtype().is_float()) {
        return Ok(outputs);
    }
    let node = Node::operation(op, attrs, line, |i| parts[i].1, &primals, &outputs, level.id);
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        let node = node.output_record(position);
        *output = lift(level, output, node, line);
    }
    Ok(outputs)
}

/// What lies below a level, and the record of each operand that is of it.
pub fn parts_of<'o>(level: &Level, operands: &[&'o Tensor]) -> SmallVec<[(&'o Tensor, Option<&'o Arc<Node>>); 4]> {
    let part = |operand: &&'o Tensor| match Tracer::at(operand, level) {
        Some(Content::Reverse { primal, node }) => (primal, Some(node)),
        _ => (*operand, None),
    };
    operands.iter().map(part).collect()
}

/// A tensor of this level.
pub fn lift(level: &Arc<Level>, primal: &Tensor, node: Arc<Node>, line: Line) -> Tensor {
    Tracer::tensor(level, primal.spec(), Content::Reverse { primal: primal.clone(), node }, line)
}
