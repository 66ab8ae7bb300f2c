//! The batch interpreter: one call for all elements of the batch, which are stacked along axis 0.

use super::custom::expect_below;
use super::{Content, Interpreter, Level, Tracer};
use crate::bind::try_bind;
use crate::custom::{Batched, attrs_of};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Control, Function, Mask, Outputs, Primitive, Spec};
use crate::{Error, Shape, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Applies operations to `size` elements at once.
pub struct Batch {
    /// The number of elements.
    pub size: usize,
}

impl Interpreter for Batch {
    fn apply(
        &self,
        level: &Arc<Level>,
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
        // The batching rule may accept calls that the primitive would reject, and its own errors would name the batch. So the call is
        // checked first.
        let specs: SmallVec<[_; 4]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
        op.infer(&attrs, &specs)?;
        let _line = location::inherit(Some(line));
        let mut outputs =
            op.batch(&attrs, self.size, &values, Mask::of(batched.len(), |position| batched[position]))?;
        for output in &mut outputs {
            *output = lift(level, output, line);
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
        let parts = operands.iter().map(|operand| match Tracer::at(operand, level) {
            Some(Content::Batch { values }) => (values, true),
            _ => (*operand, false),
        });
        let (values, lifted): (SmallVec<[&Tensor; 4]>, SmallVec<[bool; 4]>) = parts.unzip();
        let mut outputs = match function.batches_in_front() && lifted.iter().all(|lifted| *lifted) {
            true => try_bind(op, attrs.clone(), &values, line)?,
            false => {
                let batched = Mask::of(lifted.len(), |position| lifted[position]);
                let function = Arc::new(Batched { function: function.clone(), size: self.size, batched });
                try_bind(op, attrs_of(function), &values, line)?
            }
        };
        expect_below(level, function.name(), outputs.iter())?;
        outputs.iter_mut().for_each(|output| *output = lift(level, output, line));
        Ok(outputs)
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
        self.apply(level, op, attrs, operands, line)
    }

    fn handles_stopped(&self) -> bool {
        true
    }
}

/// A tensor of this level, whose batch lies along axis 0 of `values`.
pub fn lift(level: &Arc<Level>, values: &Tensor, line: Line) -> Tensor {
    let spec = Spec { shape: Shape::from(&values.shape()[1..]), dtype: values.dtype() };
    Tracer::tensor(level, spec, Content::Batch { values: values.clone() }, line)
}
