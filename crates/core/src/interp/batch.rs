//! The batch interpreter: one call for all elements of the batch, which lie along axis 0.

use super::{Content, Level, Tracer};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Mask, Outputs, Primitive, Spec};
use crate::{Error, Shape, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

pub fn apply(
    level: &Arc<Level>,
    size: usize,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let mut values: SmallVec<[Tensor; 4]> = SmallVec::new();
    let mut batched: SmallVec<[bool; 4]> = SmallVec::new();
    for operand in operands {
        let all = match Tracer::at(operand, level) {
            Some(Content::Batch { values }) => Some(values),
            _ => None,
        };
        batched.push(all.is_some());
        values.push(all.unwrap_or(operand).clone());
    }
    // The rule may pass calls that this one would not: its own errors name the batch, the call's errors do not.
    let specs: SmallVec<[_; 4]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
    op.infer(&attrs, &specs)?;
    let _line = location::inherit(Some(line));
    let mut outputs = op.batch(&attrs, size, &values, Mask::of(batched.len(), |position| batched[position]))?;
    for output in &mut outputs {
        *output = lift(level, output, line);
    }
    Ok(outputs)
}

/// A tensor of this level, whose batch lies along axis 0 of `values`.
pub fn lift(level: &Arc<Level>, values: &Tensor, line: Line) -> Tensor {
    let spec = Spec { shape: Shape::from(&values.shape()[1..]), dtype: values.dtype() };
    Tracer::tensor(level, spec, Content::Batch { values: values.clone() }, line)
}
