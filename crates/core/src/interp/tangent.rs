//! The forward interpreter: computes on the level below and pushes tangents along.

use super::custom::expect_below;
use super::{Content, Interpreter, Level, Tracer};
use crate::bind::try_bind;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Control, Function, Mask, Outputs, Primitive, Rule};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Computes tangents along with values.
pub struct Forward;

impl Interpreter for Forward {
    fn apply(
        &self,
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

    fn apply_function(
        &self,
        level: &Arc<Level>,
        function: &Arc<dyn Function>,
        _op: &'static dyn Primitive,
        _attrs: &Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
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
                *output = lift(level, output, tangent, line);
            }
        }
        Ok(outputs.into())
    }

    fn apply_control(
        &self,
        level: &Arc<Level>,
        control: &'static dyn Control,
        _op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let parts = operands.iter().map(|operand| match Tracer::at(operand, level) {
            Some(Content::Tangent { primal, tangent }) => (primal, Some(tangent.clone())),
            _ => (*operand, None),
        });
        let (primals, tangents): (Vec<&Tensor>, Vec<Option<Tensor>>) = parts.unzip();
        let _line = location::inherit(Some(line));
        let (mut outputs, derived) = control.push(&attrs, &primals, &tangents, line)?;
        for (output, tangent) in outputs.iter_mut().zip(derived) {
            if let Some(tangent) = tangent {
                *output = lift(level, output, tangent, line);
            }
        }
        Ok(outputs)
    }
}

/// A tensor of this level.
pub fn lift(level: &Arc<Level>, primal: &Tensor, tangent: Tensor, line: Line) -> Tensor {
    Tracer::tensor(level, primal.spec(), Content::Tangent { primal: primal.clone(), tangent }, line)
}
