//! The tracing interpreter: append an equation to the program being built.

use super::{Content, Level, Tracer};
use crate::autograd::{modes, packing};
use crate::location::Line;
use crate::primitive::{Attrs, Outputs, Primitive, Spec};
use crate::program::{Builder, Var};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) fn apply(
    level: &Arc<Level>,
    builder: &Mutex<Builder>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    if modes::is_packing() && op.effect(&attrs) {
        return packing::once(level.id, op, || stage(level, builder, op, attrs.clone(), operands, line));
    }
    stage(level, builder, op, attrs, operands, line)
}

fn stage(
    level: &Arc<Level>,
    builder: &Mutex<Builder>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let specs: SmallVec<[_; 4]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
    let outputs = op.infer(&attrs, &specs)?;
    let inputs = operands.iter().map(|operand| variable(level, builder, operand, line)).collect();
    let vars = lock(builder).push(op, attrs, inputs, &outputs, line);
    Ok(vars.into_iter().zip(outputs).map(|(var, spec)| lift(level, var, spec, line)).collect())
}

fn lock(builder: &Mutex<Builder>) -> MutexGuard<'_, Builder> {
    builder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The variable of an operand; a repeated number is captured once and repeated by the program.
pub(crate) fn variable(level: &Arc<Level>, builder: &Mutex<Builder>, operand: &Tensor, line: Line) -> Var {
    if let Some(Content::Trace { var }) = Tracer::at(operand, level) {
        return *var;
    }
    let Some(number) = operand.splatted().filter(|_| operand.link.is_none()) else {
        return lock(builder).capture(operand);
    };
    let (var, before) = {
        let mut builder = lock(builder);
        (builder.capture(&number), builder.equations())
    };
    let repeated = lift(level, var, number.spec(), line).broadcast_to(operand.shape());
    lock(builder).place(before, line);
    match Tracer::at(&repeated, level) {
        Some(Content::Trace { var }) => *var,
        _ => unreachable!("an operation on a traced tensor is traced"),
    }
}

/// A tensor of this level.
pub(crate) fn lift(level: &Arc<Level>, var: Var, spec: Spec, line: Line) -> Tensor {
    Tracer::tensor(level, spec, Content::Trace { var }, line)
}
