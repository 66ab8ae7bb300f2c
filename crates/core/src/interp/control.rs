//! Calls of operations that carry programs: what every interpreter does with one.

use super::{Content, Level, LevelKind, Node, Tracer, batch, tangent, tape};
use crate::autograd::{modes, packing};
use crate::bind::try_bind;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Control, Mask, Outputs, Primitive, Recording};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// A call whose operands have `level` as their highest.
pub fn apply(
    level: &Arc<Level>,
    control: &'static dyn Control,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    match &level.kind {
        LevelKind::Other(interpreter) => interpreter.apply_control(level, control, op, attrs, operands, line),
        LevelKind::Batch { size } => batch::apply(level, *size, op, attrs, operands, line),
        LevelKind::Reverse => {
            let parts = tape::parts_of(level, operands);
            let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
            let mut outputs = record(level.id, control, op, &attrs, &primals, |i| parts[i].1, line)?;
            for (output, node) in &mut outputs {
                if let Some(node) = node.take() {
                    *output = tape::lift(level, output, node, line);
                }
            }
            Ok(outputs.into_iter().map(|(output, _)| output).collect())
        }
        LevelKind::Tangent => {
            let parts = operands.iter().map(|operand| match Tracer::at(operand, level) {
                Some(Content::Tangent { primal, tangent }) => (primal, Some(tangent.clone())),
                _ => (*operand, None),
            });
            let (primals, tangents): (Vec<&Tensor>, Vec<Option<Tensor>>) = parts.unzip();
            let _line = location::inherit(Some(line));
            let (mut outputs, derived) = control.push(&attrs, &primals, &tangents, line)?;
            for (output, tangent) in outputs.iter_mut().zip(derived) {
                if let Some(tangent) = tangent {
                    *output = tangent::lift(level, output, tangent, line);
                }
            }
            Ok(outputs)
        }
    }
}

/// A call on the imperative tape.
pub fn apply_imperative(
    control: &'static dyn Control,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let numbers: SmallVec<[Tensor; 4]> = operands.iter().map(|operand| operand.plain()).collect();
    let numbers: SmallVec<[&Tensor; 4]> = numbers.iter().collect();
    let outputs = record(0, control, op, &attrs, &numbers, |i| operands[i].link.as_ref(), line)?;
    Ok(outputs.into_iter().map(|(output, link)| Tensor { link, ..output }).collect())
}

/// The outputs, and the records of those that have one.
fn record<'e>(
    level: u64,
    control: &'static dyn Control,
    op: &'static dyn Primitive,
    attrs: &Attrs,
    primals: &[&Tensor],
    edge: impl Fn(usize) -> Option<&'e Arc<Node>>,
    line: Line,
) -> Result<Vec<(Tensor, Option<Arc<Node>>)>, Error> {
    let wanted = Mask::of(primals.len(), |position| edge(position).is_some());
    let recording = {
        let _line = location::inherit(Some(line));
        control.record(attrs, wanted)
    };
    let Some(Recording { call, more, record, reached }) = recording else {
        return Ok(try_bind(op, attrs.clone(), primals, line)?.into_iter().map(|output| (output, None)).collect());
    };
    if modes::is_packing() {
        packing::expect(level, primals, op.saves(&record, wanted));
    }
    let operands: SmallVec<[&Tensor; 4]> = primals.iter().copied().chain(&more).collect();
    let mut outputs = try_bind(op, call, &operands, line)?;
    let node = Node::operation(op, record, line, edge, primals, &outputs, level);
    outputs.truncate(reached.len());
    let place = |(position, output): (usize, Tensor)| {
        let node = reached[position].then(|| node.output_record(position));
        (output, node)
    };
    Ok(outputs.into_iter().enumerate().map(place).collect())
}
