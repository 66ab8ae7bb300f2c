//! Evaluates programs one equation at a time, including loops and branches, within a limited amount of work.
//!
//! This code is independent of passes, plans and loop kernels: it defines what a program's text means.

use wengert::prelude::*;
use wengert::primitive::{Outputs, SpecRef, bind};
use wengert::program::{Equation, ProgramAttrs, Var};

/// Tensors with more elements are not computed.
pub(super) const MOST_ELEMENTS: usize = 1 << 16;

/// The work that one evaluation may do.
const WORK: f64 = 2e6;

/// Why an evaluation ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The program has an error.
    Failed,
    /// The program does too much work.
    TooMuch,
}

/// An evaluation in progress.
struct Evaluation {
    work: f64,
}

/// The outputs of a program.
pub(super) fn evaluate(program: &Program, inputs: &[Tensor]) -> Result<Vec<Tensor>, Stop> {
    let mut evaluation = Evaluation { work: WORK };
    evaluation.program(program, inputs).map_err(|_| match evaluation.work > 0.0 {
        true => Stop::Failed,
        false => Stop::TooMuch,
    })
}

/// Whether all results in a program are read or returned.
pub(super) fn reads_everything(program: &Program) -> bool {
    let reads = program.equations().iter().flat_map(|equation| &equation.inputs).chain(program.outputs());
    let read: Vec<Var> = reads.copied().collect();
    let is_read = |equation: &Equation| {
        equation.outputs.iter().any(|var| read.contains(var))
            && equation.attrs.bodies().all(|(_, b)| reads_everything(b))
    };
    program.equations().iter().all(is_read)
}

/// Whether every tensor of a program is small.
pub(super) fn is_small(program: &Program) -> bool {
    let small = |var: usize| program.spec(Var::new(var)).shape.elements() <= MOST_ELEMENTS;
    let bodies = |equation: &Equation| equation.attrs.bodies().all(|(_, body)| is_small(body));
    (0..program.variables()).all(small) && program.equations().iter().all(bodies)
}

impl Evaluation {
    /// Spends some of the remaining work.
    fn spend(&mut self, work: f64) -> Result<(), Error> {
        self.work -= work + 50.0;
        match self.work > 0.0 {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Program, "evaluate", "this takes too long")),
        }
    }

    fn program(&mut self, program: &Program, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        program.evaluate_by(inputs, |_, equation, operands| self.equation(equation, operands))
    }

    fn equation(&mut self, equation: &Equation, operands: &[&Tensor]) -> Result<Outputs, Error> {
        let (op, attrs) = (equation.op, &equation.attrs);
        let owned = || operands.iter().map(|&operand| operand.clone()).collect::<Vec<_>>();
        self.spend(0.0)?;
        match op.name() {
            "call" => Ok(self.program(attrs.program("body"), &owned())?.into()),
            "switch" => {
                let branches = attrs.programs("branch");
                let place = operands[0].to_f64_vec()[0].clamp(0.0, (branches.len() - 1) as f64);
                Ok(self.program(&branches[place as usize], &owned()[1..])?.into())
            }
            "while" => {
                let (mut state, consts) = (owned(), attrs.axis("consts"));
                while self.program(attrs.program("test"), &state)?[0].to_f64_vec()[0] != 0.0 {
                    let next = self.program(attrs.program("body"), &state)?;
                    state.splice(consts.., next);
                }
                Ok(state.drain(consts..).collect())
            }
            "scan" => self.scan(equation, &owned()),
            _ => {
                if op.name() == "while_gradient" {
                    self.spend(operands[0].to_f64_vec()[0].max(0.0) * 1000.0)?;
                }
                let specs: Vec<_> = operands.iter().map(|operand| operand.spec()).collect();
                let specs: Vec<SpecRef<'_>> = specs.iter().map(|spec| spec.as_ref()).collect();
                self.spend(op.cost(attrs, &specs, &op.infer(attrs, &specs)?).flops)?;
                catch(|| bind(op, attrs.clone(), operands))
            }
        }
    }

    fn scan(&mut self, equation: &Equation, operands: &[Tensor]) -> Result<Outputs, Error> {
        let attrs = &equation.attrs;
        let (consts, carry, length) = (attrs.axis("consts"), attrs.axis("carry"), attrs.axis("length"));
        let body = attrs.program("body");
        let mut state = operands[consts..consts + carry].to_vec();
        let mut rows: Vec<Vec<Tensor>> = vec![vec![]; body.outputs().len() - carry];
        for step in 0..length {
            let place = if attrs.int("reverse") != 0 { length - 1 - step } else { step };
            let elements = operands[consts + carry..].iter().map(|xs| xs.select(0, place as isize));
            let inputs: Vec<Tensor> = operands[..consts].iter().chain(&state).cloned().chain(elements).collect();
            let mut outputs = self.program(body, &inputs)?;
            for (rows, row) in rows.iter_mut().zip(outputs.split_off(carry)) {
                rows.push(row);
            }
            state = outputs;
        }
        let specs = body.outputs()[carry..].iter().map(|var| body.spec(*var));
        let stacked = rows.into_iter().zip(specs).map(|(mut rows, spec)| {
            if attrs.int("reverse") != 0 {
                rows.reverse();
            }
            match rows.is_empty() {
                true => Tensor::constant(0.0, &wengert::primitive::Spec::new(spec.shape.prepended(0), spec.dtype)),
                false => Tensor::stack(&rows, 0),
            }
        });
        Ok(state.into_iter().chain(stacked).collect())
    }
}
