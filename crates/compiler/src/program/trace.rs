//! The tracing interpreter: appends an equation to the program under construction.

use super::{Builder, Program, Var, stage};
use crate::autograd::{modes, packing};
use crate::custom::staged;
use crate::interp::{Content, Interpreter, Level, Tracer, custom::captured, unroll};
use crate::location::{self, Line};
use crate::methods::*;
use crate::primitive::{Attrs, Control, Function, Outputs, Primitive, Spec, SpecRef, Specs};
use crate::tensor::Value;
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The program that a level builds.
#[derive(Default)]
pub(super) struct Trace(Mutex<Builder>);

impl Trace {
    pub fn builder(&self) -> MutexGuard<'_, Builder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let specs: SmallVec<[_; 4]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
        let outputs = op.infer(&attrs, &specs)?;
        let inputs = operands.iter().map(|operand| self.variable(level, operand, line)).collect();
        let vars = self.builder().push(op, attrs, inputs, &outputs, line);
        Ok(vars.into_iter().zip(outputs).map(|(var, spec)| lift(level, var, spec, line)).collect())
    }

    /// The variable of an operand; a repeated number is captured once and broadcast by the program.
    pub fn variable(&self, level: &Arc<Level>, operand: &Tensor, line: Line) -> Var {
        if let Some(Content::Symbol { number }) = Tracer::at(operand, level) {
            return Var(*number);
        }
        let Some(number) = operand.splatted().filter(|_| operand.link.is_none()) else {
            return self.builder().capture(operand);
        };
        let (var, before) = {
            let mut builder = self.builder();
            (builder.capture(&number), builder.equations())
        };
        let repeated = lift(level, var, number.spec(), line).broadcast_to(operand.shape());
        self.builder().place(before, line);
        match Tracer::at(&repeated, level) {
            Some(Content::Symbol { number }) => Var(*number),
            _ => unreachable!("an operation on a traced tensor is traced"),
        }
    }
}

impl Interpreter for Trace {
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        if modes::is_packing() && packing::is_made_once(op, &attrs) {
            return packing::once(level.id, (op, &attrs), || self.stage(level, op, attrs.clone(), operands, line));
        }
        self.stage(level, op, attrs, operands, line)
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
        let specs: SmallVec<[_; 4]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
        let (results, effect) = match function.reads_numbers() {
            true => (function.infer(&specs).len(), false),
            false => {
                let program = trial(function.name(), |x| function.call(x), &specs);
                (program.outputs().len(), program.has_effect())
            }
        };
        self.apply(level, op, staged(attrs, results, effect), operands, line)
    }

    fn apply_control(
        &self,
        level: &Arc<Level>,
        control: &'static dyn Control,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        if !control.is_inlined() {
            return self.apply(level, op, attrs, operands, line);
        }
        unroll(control, &attrs, operands, line)
    }

    /// A program records where its gradients stop.
    fn handles_stopped(&self) -> bool {
        true
    }

    fn stopped(&self, level: &Arc<Level>, operand: &Tensor, line: Line) -> Tensor {
        match Tracer::at(operand, level) {
            Some(_) if operand.dtype().is_float() => operand.detach(),
            // A leaf is part of the program with its value at every call.
            None if operand.link.is_some() => {
                lift(level, self.variable(level, operand, line), operand.spec(), line).detach()
            }
            _ => operand.clone(),
        }
    }
}

/// A tensor of this level.
pub(super) fn lift(level: &Arc<Level>, var: Var, spec: Spec, line: Line) -> Tensor {
    Tracer::tensor(level, spec, Content::Symbol { number: var.0 }, line)
}

/// The output specs of a function for operands of these specs, by tracing it.
pub fn infer_by_trial(name: &str, call: impl FnOnce(&[Tensor]) -> Vec<Tensor>, operands: &[SpecRef<'_>]) -> Specs {
    let program = trial(name, call, operands);
    program.outputs().iter().map(|var| program.spec(*var).clone()).collect()
}

/// The program of a function on operands of these specs, which may only capture constants.
fn trial(name: &str, call: impl FnOnce(&[Tensor]) -> Vec<Tensor>, operands: &[SpecRef<'_>]) -> Program {
    let specs: Vec<Spec> = operands.iter().map(|operand| operand.to_spec()).collect();
    let line = location::resolve(Line::caller());
    let (program, ()) = stage("compile", line, &specs, |symbols| (modes::tracing(|| call(&symbols)), ()));
    if let Some((_, tensor)) = program.captures().iter().find(|(_, tensor)| !tensor.is_plain()) {
        let is_leaf = !matches!(tensor.value, Value::Tracer(_));
        captured(name, if is_leaf { "imperative tape" } else { "compiled function or transform" }).raise();
    }
    program
}
