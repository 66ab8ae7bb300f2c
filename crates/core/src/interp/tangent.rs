//! The forward interpreter: compute below, and push tangents along.

use super::{Content, Level, Tracer};
use crate::bind::try_bind;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Mask, Outputs, Primitive, Rule};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

pub fn apply(
    level: &Arc<Level>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut tangents: SmallVec<[Option<Tensor>; 4]> = SmallVec::new();
    for operand in operands {
        let (primal, tangent) = match Tracer::at(operand, level) {
            Some(Content::Tangent { primal, tangent }) => (primal, Some(tangent.clone())),
            _ => (*operand, None),
        };
        primals.push(primal);
        tangents.push(tangent);
    }
    let mut outputs = try_bind(op, attrs.clone(), &primals, line)?;
    if !op.differentiable() {
        return Ok(outputs);
    }
    let wanted = Mask::of(tangents.len(), |position| tangents[position].is_some());
    let _line = location::inherit(Some(line));
    let rule = Rule::new(op, &attrs, &primals, &outputs, wanted);
    let derived = op.jvp(&rule, &tangents);
    for (output, tangent) in outputs.iter_mut().zip(derived) {
        if let Some(tangent) = tangent {
            *output = lift(level, output, tangent, line);
        }
    }
    Ok(outputs)
}

/// A tensor of this level.
pub fn lift(level: &Arc<Level>, primal: &Tensor, tangent: Tensor, line: Line) -> Tensor {
    Tracer::tensor(level, primal.spec(), Content::Tangent { primal: primal.clone(), tangent }, line)
}
