//! Evaluates a program by binding every equation again: the inputs may be of any level.

use super::{Equation, Program};
use crate::bind::try_bind;
use crate::location::{self, Line};
use crate::primitive::Outputs;
use crate::{Error, ErrorKind, Tensor};
use smallvec::SmallVec;

impl Program {
    /// Computes the outputs for these inputs; intermediates are freed after their last use.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let program = Program::parse("program(a: f64[]) {\n  b: f64[] = mul(a, a)\n  return b\n}").unwrap();
    /// assert_eq!(program.evaluate(&[Tensor::from(3.0)]).unwrap()[0].item(), 9.0);
    /// ```
    #[track_caller]
    pub fn evaluate(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        self.evaluate_at(inputs, location::resolve(Line::caller()))
    }

    #[doc(hidden)]
    pub fn evaluate_at(&self, inputs: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        self.evaluate_by(inputs, |_, equation, operands| {
            try_bind(equation.op, equation.attrs.clone(), operands, equation.line.unwrap_or(line))
        })
    }

    /// Computes the outputs for these inputs; `apply` is given the index of an equation, the equation and its operands.
    #[doc(hidden)]
    pub fn evaluate_by(
        &self,
        inputs: &[Tensor],
        mut apply: impl FnMut(usize, &Equation, &[&Tensor]) -> Result<Outputs, Error>,
    ) -> Result<Vec<Tensor>, Error> {
        self.check_inputs(inputs)?;
        let mut values: Vec<Option<Tensor>> = vec![None; self.specs.len()];
        for (var, tensor) in
            self.inputs.iter().zip(inputs).chain(self.captures.iter().map(|(var, tensor)| (var, tensor)))
        {
            values[var.index()] = Some(tensor.clone());
        }
        let last_use = self.last_uses();
        for (number, equation) in self.equations.iter().enumerate() {
            let outputs = {
                let operands: SmallVec<[&Tensor; 4]> =
                    equation.inputs.iter().map(|var| values[var.index()].as_ref().expect("verified")).collect();
                apply(number, equation, &operands)?
            };
            for (var, output) in equation.outputs.iter().zip(outputs) {
                if last_use[var.index()] > number {
                    values[var.index()] = Some(output);
                }
            }
            for var in &equation.inputs {
                if last_use[var.index()] == number {
                    values[var.index()] = None;
                }
            }
        }
        Ok(self.outputs.iter().map(|var| values[var.index()].clone().expect("verified")).collect())
    }

    /// For each variable, the last equation that reads it; outputs are read after the end, unread variables never.
    fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![0; self.specs.len()];
        for (number, equation) in self.equations.iter().enumerate() {
            equation.inputs.iter().for_each(|var| last[var.index()] = number);
        }
        self.outputs.iter().for_each(|var| last[var.index()] = usize::MAX);
        last
    }

    fn check_inputs(&self, inputs: &[Tensor]) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, "evaluate", message));
        if inputs.len() != self.inputs.len() {
            return wrong(format!("the program takes {} inputs, got {}", self.inputs.len(), inputs.len()));
        }
        for (number, (var, input)) in self.inputs.iter().zip(inputs).enumerate() {
            if *self.spec(*var) != input.spec() {
                return wrong(format!("input {number} is {}, the program takes {}", input.spec(), self.spec(*var)));
            }
        }
        Ok(())
    }
}
