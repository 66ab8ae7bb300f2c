//! inline - replaces calls by their bodies: calls of programs, and of functions with custom rules, which are no longer needed. A function
//! that reads values stays a call.

use crate::autograd::modes::tracing;
use crate::primitive::Spec;
use crate::program::ProgramAttrs;
use crate::program::{Equation, Program, Var, staged};

pub(super) fn run(mut program: Program) -> (Program, bool) {
    if !program.equations.iter().any(is_call) {
        return (program, false);
    }
    let mut renamed: Vec<Var> = (0..program.specs.len() as u32).map(Var).collect();
    for mut equation in std::mem::take(&mut program.equations) {
        equation.inputs.iter_mut().for_each(|var| *var = renamed[var.index()]);
        match program.called(&equation) {
            None => program.equations.push(equation),
            Some(body) => {
                let made = program.take_in(&body, &equation);
                equation.outputs.iter().zip(made).for_each(|(var, made)| renamed[var.index()] = made);
            }
        }
    }
    program.outputs.iter_mut().for_each(|var| *var = renamed[var.index()]);
    (program.renumbered(), true)
}

fn is_call(equation: &Equation) -> bool {
    match equation.op.function(&equation.attrs) {
        Some(function) => !function.reads_numbers(),
        None => equation.op.control().is_some_and(|control| control.is_inlined()),
    }
}

impl Program {
    /// The program that an equation calls, if it is such a call; a function is traced again.
    #[doc(hidden)]
    pub fn called(&self, equation: &Equation) -> Option<Program> {
        if !is_call(equation) {
            return None;
        }
        let Some(function) = equation.op.function(&equation.attrs) else {
            return Some(equation.attrs.bodies().next().expect("a call has a body").1.program().clone());
        };
        let specs: Vec<Spec> = equation.inputs.iter().map(|var| self.spec(*var).clone()).collect();
        Some(staged(function.name(), &specs, |x| tracing(|| function.call(&x))))
    }

    /// Inserts the equations of a body in place of a call. Returns the variables of its outputs.
    fn take_in(&mut self, body: &Program, call: &Equation) -> Vec<Var> {
        let mut number = vec![None; body.specs.len()];
        body.inputs.iter().zip(&call.inputs).for_each(|(inside, outside)| number[inside.index()] = Some(*outside));
        let mut place = |program: &mut Program, var: &Var| {
            *number[var.index()].get_or_insert_with(|| {
                program.specs.push(body.spec(*var).clone());
                Var(program.specs.len() as u32 - 1)
            })
        };
        for (var, tensor) in &body.captures {
            let var = place(self, var);
            self.captures.push((var, tensor.plain()));
        }
        for equation in &body.equations {
            let mut vars = |list: &[Var]| list.iter().map(|var| place(self, var)).collect();
            let (inputs, outputs) = (vars(&equation.inputs), vars(&equation.outputs));
            let line = equation.line.or(call.line);
            let from_rule = equation.from_rule || call.from_rule;
            self.equations.push(Equation { inputs, outputs, line, from_rule, ..equation.clone() });
        }
        body.outputs.iter().map(|var| place(self, var)).collect()
    }
}
