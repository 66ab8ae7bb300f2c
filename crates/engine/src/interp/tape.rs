//! The reverse interpreter: compute below, and record what the rules will need.

use super::{Content, Level, Node, Role, Tracer, eval};
use crate::autograd::modes;
use crate::bind::try_bind;
use crate::location::Line;
use crate::primitive::{Attrs, Mask, Outputs, Primitive};
use crate::{Error, Tensor};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Records on the imperative tape, whose tensors are numbers with a link.
#[inline]
pub(crate) fn apply_imperative(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let mut outputs = eval::apply(op, &attrs, operands)?;
    if !op.differentiable() || !outputs.iter().any(|output| output.dtype().is_float()) {
        return Ok(outputs);
    }
    let node = Node::operation(op, attrs, line, |i| operands[i].link.as_ref(), operands, &outputs, true);
    if modes::records_values() {
        record_values(&node, operands, &outputs[0]);
    }
    if outputs.len() == 1 {
        outputs[0].link = Some(node);
        return Ok(outputs);
    }
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        output.link = Some(Node::output(&node, position));
    }
    Ok(outputs)
}

/// Records a call whose only output is known already; shortcuts belong to differentiable primitives.
#[inline]
pub(crate) fn record_one(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    output: Tensor,
    line: Line,
) -> Tensor {
    let outputs = std::slice::from_ref(&output);
    let node = Node::operation(op, attrs, line, |i| operands[i].link.as_ref(), operands, outputs, true);
    Tensor { link: Some(node), ..output }
}

/// Records an update of memory that is handed over; a rule that needs the old value makes it a copy.
pub(crate) fn apply_in_place(
    op: &'static dyn Primitive,
    attrs: Attrs,
    mut target: Tensor,
    rest: &[&Tensor],
    line: Line,
) -> Result<Tensor, Error> {
    let link = target.link.take();
    let edge = |i: usize| if i == 0 { link.as_ref() } else { rest[i - 1].link.as_ref() };
    let saves = op.saves(&attrs, Mask::of(rest.len() + 1, |i| edge(i).is_some()));
    if saves.operands.has(0) || saves.residual {
        target.link = link;
        let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
        return Ok(apply_imperative(op, attrs, &operands, line)?.pop().expect("one output"));
    }
    let outputs: Outputs = smallvec![eval::apply_in_place(op, &attrs, target, rest)?];
    // Only the shape of the first operand can be asked for, and that did not change.
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&outputs[0]).chain(rest.iter().copied()).collect();
    let node = Node::operation(op, attrs, line, edge, &operands, &outputs, true);
    if modes::records_values() {
        record_values(&node, rest, &outputs[0]);
    }
    Ok(Tensor { value: outputs[0].value.clone(), link: Some(node), slot: None })
}

/// The listing of the tape shows leaves too, which no operation made.
#[cold]
fn record_values(node: &Arc<Node>, operands: &[&Tensor], output: &Tensor) {
    node.extras_or_new(|extras| extras.value = Some(output.clone()));
    for operand in operands {
        if let Some(leaf) = operand.link.as_ref().filter(|link| link.role() == Role::Leaf) {
            leaf.extras_or_new(|extras| extras.value.get_or_insert_with(|| operand.plain()).clone());
        }
    }
}

/// Records for one transform, whose tensors are tracers over tensors of lower level.
pub(crate) fn apply(
    level: &Arc<Level>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let parts: SmallVec<[(&Tensor, Option<&Arc<Node>>); 4]> = operands
        .iter()
        .map(|operand| match Tracer::at(operand, level) {
            Some(Content::Reverse { primal, node }) => (primal, Some(node)),
            _ => (*operand, None),
        })
        .collect();
    let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
    let mut outputs = try_bind(op, attrs.clone(), &primals, line)?;
    if !op.differentiable() || !outputs.iter().any(|output| output.dtype().is_float()) {
        return Ok(outputs);
    }
    let node = Node::operation(op, attrs, line, |i| parts[i].1, &primals, &outputs, false);
    let several = outputs.len() > 1;
    for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
        let node = if several { Node::output(&node, position) } else { node.clone() };
        *output = lift(level, output, node, line);
    }
    Ok(outputs)
}

/// A tensor of this level.
pub(crate) fn lift(level: &Arc<Level>, primal: &Tensor, node: Arc<Node>, line: Line) -> Tensor {
    Tracer::tensor(level, primal.spec(), Content::Reverse { primal: primal.clone(), node }, line)
}
