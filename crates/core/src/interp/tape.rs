//! The reverse interpreter: computes on the level below and records what the rules need.

use super::custom::{cloned, expect_below};
use super::imperative::record_control;
use super::{Content, Interpreter, Level, Node, Tracer};
use crate::autograd::{modes, packing};
use crate::bind::try_bind;
use crate::custom::recorded;
use crate::location::Line;
use crate::primitive::{Attrs, Control, Function, Mask, Outputs, Primitive};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Records for one transform, whose tensors are tracers over tensors of lower level.
pub struct Reverse;

impl Interpreter for Reverse {
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let parts = parts_of(level, operands);
        let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
        if modes::is_packing() && op.differentiable() {
            let saves = op.saves(&attrs, Mask::of(parts.len(), |i| parts[i].1.is_some()));
            packing::expect(level.id, (op.name(), &attrs), &primals, saves);
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

    fn apply_function(
        &self,
        level: &Arc<Level>,
        function: &Arc<dyn Function>,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let parts = parts_of(level, operands);
        let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
        let (mut outputs, residual) = function.forward(&cloned(&primals));
        expect_below(level, function.name(), outputs.iter().chain(&residual.tensors))?;
        let results = outputs.len();
        let attrs = recorded(attrs, operands.len(), results, &residual, false);
        outputs.extend(residual.tensors);
        let node = Node::operation(op, attrs, line, |i| parts[i].1, &primals, &outputs, level.id);
        outputs.truncate(results);
        for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
            *output = lift(level, output, node.output_record(position), line);
        }
        Ok(outputs.into())
    }

    fn apply_control(
        &self,
        level: &Arc<Level>,
        _control: &'static dyn Control,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let parts = parts_of(level, operands);
        let primals: SmallVec<[&Tensor; 4]> = parts.iter().map(|part| part.0).collect();
        let run = |attrs: Attrs, operands: &[&Tensor]| try_bind(op, attrs, operands, line);
        let mut outputs = record_control(level.id, op, &attrs, &primals, |i| parts[i].1, line, run)?;
        for (output, node) in &mut outputs {
            if let Some(node) = node.take() {
                *output = lift(level, output, node, line);
            }
        }
        Ok(outputs.into_iter().map(|(output, _)| output).collect())
    }
}

/// The tensor below the level for each operand, and its record if the operand belongs to the level.
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
