//! The Taylor interpreter: computes values, and propagates Taylor coefficients.
//!
//! A tensor of this level is x(t) = x0 + x1 t + x2 t^2 + .. up to the level's order. If an operation declares how it acts on coefficients
//! ([`Jet`]), they are propagated one by one ([`coefficients`](super::coefficients)). Every other operation is the solution of a
//! differential equation given by its tangent rule ([`equation`]); loops carry coefficients along ([`loops`]).

use super::coefficients::{Series, acts_on_coefficients, by_coefficient, lift, series_of};
use super::{equation, loops};
use crate::Tensor;
use crate::bind::try_bind;
use crate::error::Error;
use crate::interp::custom::expect_below;
use crate::interp::{Interpreter, Level, unroll};
use crate::location::{self, Line};
use crate::primitive::{Attrs, Control, Jet, Outputs, Primitive};
use smallvec::SmallVec;
use std::sync::Arc;
use wengert_compiler::control::{WHILE, WHILE_GRADIENT};

/// Taylor coefficients up to this order.
pub(super) struct Coefficients {
    pub order: usize,
}

impl Interpreter for Coefficients {
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        if op.is(&WHILE_GRADIENT) {
            // Its own derivatives are those of loops, which may be batched or traced.
            let operands: Vec<Tensor> = operands.iter().map(|&operand| operand.clone()).collect();
            return Ok(op.expansion(&attrs, &operands).expect("it is expanded in loops").into());
        }
        let operands = series_of(level, operands);
        let values: SmallVec<[&Tensor; 4]> = operands.iter().map(Series::value).collect();
        let mut outputs = try_bind(op, attrs.clone(), &values, line)?;
        if let Some(function) = op.function(&attrs) {
            expect_below(level, function.name(), outputs.iter())?;
        }
        if !op.differentiable() || op.jet() == Jet::Constant || operands.iter().all(Series::is_constant) {
            return Ok(outputs);
        }
        let _line = location::inherit(Some(line));
        let found = match acts_on_coefficients(op.jet()) {
            true => by_coefficient(op, &attrs, &operands, &outputs, self.order),
            false => equation::solve(op, attrs, &operands, &outputs, self.order, line),
        };
        for (output, higher) in outputs.iter_mut().zip(found) {
            if output.dtype().is_float() && higher.iter().any(Option::is_some) {
                *output = lift(level, Series::new(output.clone(), higher), line);
            }
        }
        Ok(outputs)
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
        let can_be_read = || operands.iter().all(|operand| operand.numbers(op.name()).is_ok());
        if !op.is(&WHILE) || self.order == 0 || can_be_read() {
            return unroll(control, &attrs, operands, line);
        }
        loops::repeat(level, self.order, &attrs, &series_of(level, operands), line)
    }
}
