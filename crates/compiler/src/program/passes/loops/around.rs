//! The program around loops, while it is being rebuilt.

use super::super::edit::bits_of;
use super::super::known::*;
use super::form::Loop;
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::program::{Equation, Program, Var, staged};
use crate::{Tensor, catch};

pub(super) struct Around {
    program: Program,
    /// The replacement of each variable.
    renamed: Vec<Var>,
    /// Whether it is read.
    read: Vec<bool>,
    /// Parts that follow the loop that is being rewritten.
    behind: Vec<Replacement>,
}

/// A program of outer variables, whose outputs replace others.
struct Replacement {
    program: Program,
    inputs: Vec<Var>,
    outputs: Vec<Var>,
}

impl Around {
    pub fn new(program: Program, equations: &[Equation]) -> Around {
        let mut read = vec![false; program.specs.len()];
        equations.iter().flat_map(|equation| &equation.inputs).chain(&program.outputs).for_each(|var| {
            read[var.index()] = true;
        });
        let renamed = (0..program.specs.len() as u32).map(Var).collect();
        Around { program, renamed, read, behind: Vec::new() }
    }

    pub fn finish(mut self) -> Program {
        let mut outputs = std::mem::take(&mut self.program.outputs);
        self.rename(&mut outputs);
        Program { outputs, ..self.program }
    }

    pub fn spec(&self, var: Var) -> &Spec {
        &self.program.specs[var.index()]
    }

    /// The current replacement of a variable.
    fn now(&self, mut var: Var) -> Var {
        while self.renamed[var.index()] != var {
            var = self.renamed[var.index()];
        }
        var
    }

    pub fn rename(&self, vars: &mut [Var]) {
        vars.iter_mut().for_each(|var| *var = self.now(*var));
    }

    /// Replaces `var` by `other` from now on.
    pub fn replace(&mut self, var: Var, other: Var) {
        self.read[other.index()] |= self.read[var.index()];
        self.renamed[var.index()] = other;
    }

    pub fn reads(&self, var: Var) -> bool {
        self.read[var.index()]
    }

    /// Whether anything reads the outputs of an equation.
    pub fn is_read(&self, equation: &Equation) -> bool {
        equation.outputs.iter().any(|var| self.reads(*var))
    }

    /// A new variable, which is marked as read.
    pub fn fresh(&mut self, spec: Spec) -> Var {
        let var = Var(self.program.specs.len() as u32);
        self.program.specs.push(spec);
        self.renamed.push(var);
        self.read.push(true);
        var
    }

    pub fn push(&mut self, equation: Equation) {
        self.program.equations.push(equation);
    }

    /// Adds the loop and the parts that follow it. A loop without results is dropped, unless the original has an effect.
    pub fn push_scan(&mut self, scan: Loop, before: Equation) {
        match scan.equation() {
            Some(equation) => self.push(equation),
            None if before.has_effect() => self.push(before),
            None => {}
        }
        let mut parts = std::mem::take(&mut self.behind);
        while !parts.is_empty() {
            // One part may read the results of another.
            let waits = |part: &Replacement| {
                parts.iter().any(|other| other.outputs.iter().any(|var| part.inputs.contains(var)))
            };
            let ready = parts.iter().position(|part| !waits(part)).expect("parts do not wait for each other");
            let Replacement { program, mut inputs, outputs } = parts.remove(ready);
            self.rename(&mut inputs);
            let made = self.inline(&program, &inputs);
            outputs.into_iter().zip(made).for_each(|(var, made)| self.replace(var, made));
        }
    }

    /// Whether all elements of a variable are zero.
    pub fn is_zero(&self, var: Var) -> bool {
        let mut var = self.now(var);
        let repeats = |equation: &&Equation| is_any(equation.op, &[BROADCAST, RESHAPE]);
        while let Some(equation) = self.program.equations.iter().find(|equation| equation.outputs.contains(&var)) {
            let Some(equation) = Some(equation).filter(repeats) else { return false };
            var = equation.inputs[0];
        }
        let captured = self.program.captures.iter().find(|(captured, _)| *captured == var);
        captured.is_some_and(|(_, tensor)| bits_of(tensor) == Some(0))
    }

    /// Traces a function of variables to a program; `None` if that is not possible.
    fn stage(&self, line: Option<Line>, inputs: &[Var], f: impl FnOnce(Vec<Tensor>) -> Vec<Tensor>) -> Option<Program> {
        let specs: Vec<Spec> = inputs.iter().map(|var| self.spec(*var).clone()).collect();
        let _line = location::inherit(line);
        catch(|| staged("scan", &specs, f)).ok()
    }

    /// Adds the equations of a function of variables, and returns its results.
    pub fn add(
        &mut self,
        line: Option<Line>,
        inputs: &[Var],
        f: impl FnOnce(Vec<Tensor>) -> Vec<Tensor>,
    ) -> Option<Vec<Var>> {
        let program = self.stage(line, inputs, f)?;
        Some(self.inline(&program, inputs))
    }

    /// Adds the equations of a function after the loop that is being rewritten; its results replace `outputs`. Returns whether this is
    /// possible.
    pub fn add_behind(
        &mut self,
        line: Option<Line>,
        inputs: Vec<Var>,
        outputs: Vec<Var>,
        f: impl FnOnce(Vec<Tensor>) -> Vec<Tensor>,
    ) -> bool {
        let Some(program) = self.stage(line, &inputs, f) else { return false };
        self.behind.push(Replacement { program, inputs, outputs });
        true
    }

    fn inline(&mut self, part: &Program, inputs: &[Var]) -> Vec<Var> {
        let mut own: Vec<Option<Var>> = vec![None; part.specs.len()];
        part.inputs.iter().zip(inputs).for_each(|(var, input)| own[var.index()] = Some(*input));
        for (var, tensor) in &part.captures {
            let captured = self.fresh(tensor.spec());
            self.program.captures.push((captured, tensor.clone()));
            own[var.index()] = Some(captured);
        }
        for equation in &part.equations {
            let mut equation = equation.clone();
            for var in &mut equation.inputs {
                *var = own[var.index()].expect("it is defined before");
            }
            for var in &mut equation.outputs {
                let made = self.fresh(part.specs[var.index()].clone());
                own[var.index()] = Some(made);
                *var = made;
            }
            self.push(equation);
        }
        part.outputs.iter().map(|var| own[var.index()].expect("it is defined")).collect()
    }
}
