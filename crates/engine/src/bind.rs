//! `bind`: the one way to apply a primitive.
//!
//! An operation belongs to the highest level among its operands: that interpreter handles it and binds again with what lies
//! below. There is no interpreter stack. The imperative tape is level 0, below all others.

use crate::autograd::modes;
use crate::error::OrRaise;
use crate::interp::{Level, LevelKind, batch, eval, tangent, tape, trace};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Outputs, Primitive};
use crate::tensor::Value;
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

/// Applies a primitive to operands of any level.
///
/// ```
/// use wengert::{prelude::*, primitive::{Attrs, bind, find}};
/// let sin = find("sin").unwrap();
/// let y = bind(sin, Attrs::new(), &[&Tensor::from(0.0)]);
/// assert_eq!(y[0].item(), 0.0);
/// ```
#[inline]
#[track_caller]
pub fn bind(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor]) -> Outputs {
    let line = location::resolve(Location::caller());
    try_bind(op, attrs, operands, line).or_raise()
}

/// Applies a primitive with one output.
#[inline]
#[track_caller]
pub fn bind1(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor]) -> Tensor {
    let line = location::resolve(Location::caller());
    // A shortcut only answers for operands that hold numbers, so no tracer is among them.
    if let Some(output) = op.eval_direct(operands) {
        if modes::is_special() {
            return try_bind(op, attrs, operands, line).or_raise().pop().expect("one output");
        }
        return match modes::records_tape() && operands.iter().any(|operand| operand.link.is_some()) {
            true => tape::record_one(op, attrs, operands, output, line),
            false => output,
        };
    }
    try_bind(op, attrs, operands, line).or_raise().pop().expect("one output")
}

/// Applies a primitive whose first operand is handed over and may be updated in place; one output.
#[track_caller]
pub(crate) fn bind_owned(op: &'static dyn Primitive, attrs: Attrs, target: Tensor, rest: &[&Tensor]) -> Tensor {
    let line = location::resolve(Location::caller());
    let has_tracer = |tensor: &Tensor| matches!(tensor.value, Value::Tracer(_));
    if has_tracer(&target) || rest.iter().any(|operand| has_tracer(operand)) {
        let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
        return try_bind(op, attrs, &operands, line).or_raise().pop().expect("one output");
    }
    let linked = target.link.is_some() || rest.iter().any(|operand| operand.link.is_some());
    let result = match linked && modes::records_tape() {
        true => tape::apply_in_place(op, attrs, target, rest, line),
        false => eval::apply_in_place(op, &attrs, target, rest),
    };
    result.map_err(|error| error.at(line)).or_raise()
}

pub(crate) fn try_bind(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    dispatch(op, attrs, operands, line).map_err(|error| error.at(line))
}

#[inline]
fn dispatch(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor], line: Line) -> Result<Outputs, Error> {
    let mut highest: Option<&Arc<Level>> = None;
    let mut linked = false;
    for operand in operands {
        match &operand.value {
            Value::Tracer(tracer) if highest.is_none_or(|level| tracer.level.id > level.id) => {
                highest = Some(&tracer.level);
            }
            _ => {}
        }
        linked |= operand.link.is_some();
    }
    let Some(level) = highest else {
        return match linked && modes::records_tape() {
            true => tape::apply_imperative(op, attrs, operands, line),
            false => eval::apply(op, &attrs, operands),
        };
    };
    let level = level.clone();
    check_open(operands)?;
    if modes::stops(level.id) && op.differentiable() {
        let stopped: SmallVec<[Tensor; 4]> = operands
            .iter()
            .map(|operand| if operand.dtype().is_float() { operand.detach() } else { (*operand).clone() })
            .collect();
        let stopped: SmallVec<[&Tensor; 4]> = stopped.iter().collect();
        return apply_at(&level, op, attrs, &stopped, line);
    }
    apply_at(&level, op, attrs, operands, line)
}

fn apply_at(
    level: &Arc<Level>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    match &level.kind {
        LevelKind::Reverse => tape::apply(level, op, attrs, operands, line),
        LevelKind::Tangent => tangent::apply(level, op, attrs, operands, line),
        LevelKind::Batch { size } => batch::apply(level, *size, op, attrs, operands, line),
        LevelKind::Trace(builder) => trace::apply(level, builder, op, attrs, operands, line),
    }
}

fn check_open(operands: &[&Tensor]) -> Result<(), Error> {
    for operand in operands {
        if let Value::Tracer(tracer) = &operand.value {
            tracer.check_open()?;
        }
    }
    Ok(())
}
