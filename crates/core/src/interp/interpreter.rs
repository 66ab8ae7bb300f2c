//! What a transform outside of the core does with operations on its tensors.

use super::{Content, Level, Tracer};
use crate::location::Line;
use crate::primitive::{Attrs, Control, Function, Outputs, Primitive};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// An interpreter that a level is opened with. Operands are of the level, or below it.
pub trait Interpreter: Any + Send + Sync {
    /// Applies an operation.
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error>;

    /// Applies a function with rules of its own.
    fn apply_function(
        &self,
        level: &Arc<Level>,
        _function: &Arc<dyn Function>,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        self.apply(level, op, attrs.clone(), operands, line)
    }

    /// Applies an operation that carries programs: unless told, by the operations of its programs.
    fn apply_control(
        &self,
        _level: &Arc<Level>,
        control: &'static dyn Control,
        _op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        unroll(control, &attrs, operands, line)
    }

    /// Whether it also handles operations under `no_grad`; a derivative is not there then.
    fn handles_stopped(&self) -> bool {
        false
    }

    /// What stands for an operand under `no_grad`.
    fn stopped(&self, level: &Arc<Level>, operand: &Tensor, _line: Line) -> Tensor {
        Tracer::at(operand, level).and_then(Content::primal).unwrap_or(operand).clone()
    }
}

/// A call of an operation that carries programs, as the operations of its programs.
pub fn unroll(
    control: &'static dyn Control,
    attrs: &Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let operands: SmallVec<[Tensor; 4]> = operands.iter().map(|&operand| operand.clone()).collect();
    control.unroll(attrs, &operands, line)
}
