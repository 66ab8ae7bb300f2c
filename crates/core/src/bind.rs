//! `bind`: the one way to apply a primitive.
//!
//! An operation belongs to the highest level among its operands. The interpreter of that level handles it and binds again with the tensors
//! below. There is no interpreter stack. The imperative tape is level 0, below all others.

use crate::autograd::{modes, times};
use crate::error::OrRaise;
use crate::interp::{Level, eval, imperative};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Outputs, Primitive};
use crate::tensor::{Value, device};
use crate::{Error, ErrorKind, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

/// Applies a primitive to operands of any level.
///
/// ```
/// use wengert::{prelude::*, primitive::{Attrs, bind, find}};
/// let sin = find("sin").unwrap();
/// let y = bind(sin, Attrs::new(), &[&Tensor::from(0.0)]);
/// assert_eq!(y[0].item(), 0.0);
/// ```
#[track_caller]
pub fn bind(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor]) -> Outputs {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    try_bind(op, attrs, operands, line).or_raise()
}

/// Applies a primitive with one output.
#[track_caller]
pub fn bind1(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor]) -> Tensor {
    let line = location::resolve(Line::caller());
    // A shortcut only accepts operands that hold values, so none of them is a tracer.
    let mut direct = if modes::is_special() { None } else { op.eval_direct(operands) };
    // The output is moved only after its record is built: moving it right after its fields were written would stall on the stores.
    let linked = operands.iter().any(|operand| operand.link.is_some());
    if let Some(output) = direct.as_mut().filter(|_| !(linked && modes::is_tracing())) {
        if linked && modes::records_tape() && op.records() {
            imperative::record_short(op, attrs, operands, output, line);
        }
    } else {
        let _scope = location::scope(line);
        return only(op, try_bind(op, attrs, operands, line)).or_raise();
    }
    direct.expect("a shortcut answered")
}

/// Applies a primitive with one output and returns errors as values.
#[track_caller]
pub fn try_bind1(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor]) -> Result<Tensor, Error> {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    only(op, try_bind(op, attrs, operands, line))
}

fn only(op: &'static dyn Primitive, outputs: Result<Outputs, Error>) -> Result<Tensor, Error> {
    let mut outputs = outputs?;
    match outputs.len() {
        1 => Ok(outputs.pop().expect("one output")),
        count => Err(Error::new(ErrorKind::Argument, op.name(), format!("has {count} outputs, not one"))
            .help("apply it with `bind`, which returns all outputs")),
    }
}

/// Applies a primitive with one output to a first operand that is handed over and may be updated in place.
#[track_caller]
pub fn bind_owned(op: &'static dyn Primitive, attrs: Attrs, target: Tensor, rest: &[&Tensor]) -> Tensor {
    let line = location::resolve(Line::caller());
    let has_tracer = |tensor: &Tensor| matches!(tensor.value, Value::Tracer(_));
    let any_tracer = has_tracer(&target) || rest.iter().any(|operand| has_tracer(operand));
    // Anomaly mode compares inputs with outputs, so nothing is overwritten.
    if any_tracer || modes::detects_anomalies() {
        let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
        return only(op, try_bind(op, attrs, &operands, line)).or_raise();
    }
    let linked = target.link.is_some() || rest.iter().any(|operand| operand.link.is_some());
    let clock = times::start(op, &attrs, std::iter::once(&target).chain(rest.iter().copied()), line);
    let result = match linked && modes::records_tape() {
        true => imperative::apply_in_place(op, attrs, target, rest, line),
        false => eval::apply_in_place(op, &attrs, target, rest),
    };
    if let (Some(clock), Ok(output)) = (clock, &result) {
        clock.stop(std::slice::from_ref(output));
    }
    result.map_err(|error| error.at(line)).or_raise()
}

pub fn try_bind(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor], line: Line) -> Result<Outputs, Error> {
    dispatch(op, attrs, operands, line).map_err(|error| error.at(line))
}

#[inline]
fn dispatch(op: &'static dyn Primitive, attrs: Attrs, operands: &[&Tensor], line: Line) -> Result<Outputs, Error> {
    if !op.accepts(operands.len()) {
        let message = format!("takes {} operands, got {}", op.operands(), operands.len());
        return Err(Error::new(ErrorKind::Argument, op.name(), message));
    }
    let together = device::together(operands);
    let references: SmallVec<[&Tensor; 4]> = together.iter().flatten().collect();
    let operands = if together.is_some() { &references[..] } else { operands };
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
    // A traced function's operations on leaves alone are part of its program too, and so is every operation with an effect. A function of
    // constants is called right away, so that it can report what its closures captured.
    let above = |level: &Arc<Level>| highest.is_none_or(|highest| level.id > highest.id);
    let traced = if highest.is_none() && linked { modes::traced() } else { None };
    let program = traced.or_else(|| modes::staged().filter(|level| above(level) && is_made_by_programs(op, &attrs)));
    let Some(level) = program.as_ref().or(highest) else {
        let clock = times::start(op, &attrs, operands.iter().copied(), line);
        let outputs = apply_to_numbers(op, attrs, operands, linked, line);
        if let (Some(clock), Ok(outputs)) = (clock, &outputs) {
            clock.stop(outputs);
        }
        return outputs;
    };
    check_open(operands)?;
    if modes::stops(level.id) && op.differentiable() {
        return apply_stopped(&level.clone(), op, attrs, operands, line);
    }
    apply_at(&level.clone(), op, attrs, operands, line)
}

/// Applies an operation whose operands belong to no level; `linked` says whether one has a record.
#[inline]
fn apply_to_numbers(
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    linked: bool,
    line: Line,
) -> Result<Outputs, Error> {
    // Listings are made later, when the scope that knows the user's line has ended.
    let line = if modes::records_values() { location::shown(line) } else { line };
    if !attrs.is_empty()
        && let Some(function) = op.function(&attrs)
    {
        return imperative::apply_function(function, op, &attrs, operands, line);
    }
    if !(linked && modes::records_tape()) {
        if linked {
            modes::note_stop(op.name(), operands, line);
        }
        return eval::apply_once(op, &attrs, operands);
    }
    match if attrs.is_empty() { None } else { op.control() } {
        Some(_) => imperative::apply_control(op, attrs, operands, line),
        None => imperative::apply(op, attrs, operands, line),
    }
}

fn is_made_by_programs(op: &'static dyn Primitive, attrs: &Attrs) -> bool {
    op.effect(attrs) && op.function(attrs).is_none()
}

/// Applies an operation under `no_grad`: a derivative level is skipped, a trace stages that gradients stop, and a batch has no gradients to
/// stop.
fn apply_stopped(
    level: &Arc<Level>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    let stop = |operand: &&Tensor| level.interpreter.stopped(level, operand, line);
    let stopped: SmallVec<[Tensor; 4]> = operands.iter().map(stop).collect();
    let stopped: SmallVec<[&Tensor; 4]> = stopped.iter().collect();
    match level.interpreter.handles_stopped() {
        true => apply_at(level, op, attrs, &stopped, line),
        false => try_bind(op, attrs, &stopped, line),
    }
}

fn apply_at(
    level: &Arc<Level>,
    op: &'static dyn Primitive,
    attrs: Attrs,
    operands: &[&Tensor],
    line: Line,
) -> Result<Outputs, Error> {
    if let Some(function) = op.function(&attrs) {
        return level.interpreter.apply_function(level, function, op, &attrs, operands, line);
    }
    if !attrs.is_empty()
        && let Some(control) = op.control()
    {
        return level.interpreter.apply_control(level, control, op, attrs, operands, line);
    }
    level.interpreter.apply(level, op, attrs, operands, line)
}

fn check_open(operands: &[&Tensor]) -> Result<(), Error> {
    for operand in operands {
        if let Value::Tracer(tracer) = &operand.value {
            tracer.check_open()?;
        }
    }
    Ok(())
}
