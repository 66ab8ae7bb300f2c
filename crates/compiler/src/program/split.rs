//! Splits a program that computes values and gradients into a forward and a backward program.

use super::{Equation, Program, Var, residuals};
use crate::ground::items::BARRIER;
use std::fmt;

/// A value that the backward program takes from the forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// An input of the joint program.
    Input(usize),
    /// An output of the forward program: one of its results, or one that was added as a residual.
    Output(usize),
}

/// The two halves of a program that computes values and gradients.
pub struct Split {
    /// Maps the inputs to the results, followed by the values that only the backward program needs.
    pub forward: Program,
    /// Maps the residuals, followed by the cotangents, to the gradients.
    pub backward: Program,
    /// Where the residuals come from.
    pub residuals: Vec<Residual>,
}

/// Splits `joint`, whose last `cotangents` inputs are cotangents and whose outputs after the first `results` are gradients. Everything that
/// depends on a cotangent goes to the backward program. Other values that it reads are passed as residuals, or recomputed from residuals by
/// elementwise operations and views, so that the residuals that are neither inputs nor results have the fewest bytes.
///
/// ```
/// use wengert::{prelude::*, program::{Residual, split}};
/// let joint = |(x, dy): &(Tensor, Tensor)| {
///     let (y, pullback) = vjp(|x: &Tensor| x.exp() * x, x);
///     (y, pullback.call(dy))
/// };
/// let joint = compile(joint).program(&(Tensor::from(1.0), Tensor::from(1.0)));
/// let split = split(&joint, 1, 1);
/// let x = Tensor::from(2.0);
/// let forward = split.forward.evaluate(&[x.clone()]).unwrap();
/// let residuals = split.residuals.iter().map(|residual| match residual {
///     Residual::Input(_) => x.clone(),
///     Residual::Output(position) => forward[*position].clone(),
/// });
/// let inputs: Vec<Tensor> = residuals.chain([Tensor::from(1.0)]).collect();
/// let gradient = split.backward.evaluate(&inputs).unwrap();
/// assert!((gradient[0].item() - 3.0 * 2.0f64.exp()).abs() < 1e-14);
/// ```
pub fn split(joint: &Program, results: usize, cotangents: usize) -> Split {
    split_by(joint, results, cotangents, |_| true)
}

/// [`split`] where only those inputs and results are free that `is_free` accepts.
pub fn split_by(joint: &Program, results: usize, cotangents: usize, is_free: impl Fn(Residual) -> bool) -> Split {
    let given = joint.inputs.len() - cotangents;
    let mut late = vec![false; joint.specs.len()];
    joint.inputs[given..].iter().for_each(|var| late[var.index()] = true);
    let early = joint.needed(&joint.outputs[..results]);
    // Effects keep their order: none moves forward past one that has to wait.
    let mut effects_wait = false;
    for equation in &joint.equations {
        // Values that a checkpoint recomputes are computed in the backward program.
        let again = equation.op.is(BARRIER) && !early[equation.outputs[0].index()];
        let has_effect = equation.has_effect();
        let is_early = equation.outputs.iter().any(|var| early[var.index()]);
        if again || (has_effect && effects_wait && !is_early) || equation.inputs.iter().any(|var| late[var.index()]) {
            effects_wait |= has_effect;
            equation.outputs.iter().for_each(|var| late[var.index()] = true);
        }
    }
    let makers = makers(joint);
    let repeats = repeats(joint, given, results, &late, &makers, is_free);
    // The equations of the backward program, and the values it reads from outside.
    let mut chosen = vec![false; joint.equations.len()];
    let mut crossing: Vec<Var> = Vec::new();
    let mut seen = vec![false; joint.specs.len()];
    let mut stack: Vec<Var> = joint.outputs[results..].iter().rev().copied().collect();
    let is_late = |equation: &Equation| equation.outputs.iter().any(|var| late[var.index()]);
    let effects = joint.equations.iter().filter(|equation| is_late(equation) && equation.has_effect());
    stack.extend(effects.map(|equation| equation.outputs[0]));
    while let Some(var) = stack.pop() {
        if std::mem::replace(&mut seen[var.index()], true) {
            continue;
        }
        match makers[var.index()] {
            Maker::Equation(number) if late[var.index()] || repeats[number] => {
                chosen[number] = true;
                stack.extend(joint.equations[number].inputs.iter().rev());
            }
            Maker::Input(number) if number >= given => {}
            Maker::Capture => {}
            Maker::Equation(_) | Maker::Input(_) => crossing.push(var),
        }
    }
    crossing.sort_unstable();
    let mut outputs = joint.outputs[..results].to_vec();
    let residual = |var: &Var| match makers[var.index()] {
        Maker::Input(number) => Residual::Input(number),
        // Each residual is passed once, so it is a result or a new output.
        _ => Residual::Output(outputs[..results].iter().position(|output| output == var).unwrap_or_else(|| {
            outputs.push(*var);
            outputs.len() - 1
        })),
    };
    let residuals = crossing.iter().map(residual).collect();
    let forward =
        joint.part_with(&joint.inputs[..given], &outputs, |equation| !is_late(equation) && equation.has_effect());
    let inputs: Vec<Var> = crossing.iter().chain(&joint.inputs[given..]).copied().collect();
    let equations = joint.equations.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
    let backward =
        joint.with(&inputs, equations.map(|(equation, _)| equation.clone()).collect(), &joint.outputs[results..]);
    Split { forward, backward, residuals }
}

/// What defines a variable.
#[derive(Clone, Copy)]
enum Maker {
    Input(usize),
    Capture,
    Equation(usize),
}

fn makers(program: &Program) -> Vec<Maker> {
    let mut makers = vec![Maker::Capture; program.specs.len()];
    program.inputs.iter().enumerate().for_each(|(number, var)| makers[var.index()] = Maker::Input(number));
    for (number, equation) in program.equations.iter().enumerate() {
        equation.outputs.iter().for_each(|var| makers[var.index()] = Maker::Equation(number));
    }
    makers
}

/// The early equations that the backward program repeats, by index.
fn repeats(
    joint: &Program,
    given: usize,
    results: usize,
    late: &[bool],
    makers: &[Maker],
    is_free: impl Fn(Residual) -> bool,
) -> Vec<bool> {
    let wanted = joint.needed(&joint.outputs[results..]);
    let late_equations = joint.equations.iter().filter(|equation| {
        equation.outputs.iter().any(|var| late[var.index()] && (wanted[var.index()] || equation.has_effect()))
    });
    let read = late_equations.flat_map(|equation| &equation.inputs).chain(&joint.outputs[results..]);
    let is_early = |var: &Var| {
        !late[var.index()]
            && !matches!(makers[var.index()], Maker::Capture)
            && !matches!(makers[var.index()], Maker::Input(number) if number >= given)
    };
    let mut needed: Vec<Var> = read.copied().filter(is_early).collect();
    needed.sort_unstable();
    needed.dedup();
    let price = |var: Var| {
        let is_result = (0..results).any(|place| joint.outputs[place] == var && is_free(Residual::Output(place)));
        let is_input = matches!(makers[var.index()], Maker::Input(number) if is_free(Residual::Input(number)));
        if is_result || is_input { 0 } else { joint.spec(var).bytes() }
    };
    let equation = |maker: &Maker| match maker {
        Maker::Equation(number) => Some(*number),
        _ => None,
    };
    let makers: Vec<Option<usize>> = makers.iter().map(equation).collect();
    residuals::repeated(joint, &makers, &needed, price)
}

impl Program {
    /// By variable, whether `outputs` depend on it.
    fn needed(&self, outputs: &[Var]) -> Vec<bool> {
        let mut needed = vec![false; self.specs.len()];
        outputs.iter().for_each(|var| needed[var.index()] = true);
        for equation in self.equations.iter().rev() {
            if equation.outputs.iter().any(|var| needed[var.index()]) {
                equation.inputs.iter().for_each(|var| needed[var.index()] = true);
            }
        }
        needed
    }

    /// The equations that `outputs` need, and those with an effect, as a program of `inputs`, which must be defined before all of them.
    #[doc(hidden)]
    pub fn part(&self, inputs: &[Var], outputs: &[Var]) -> Program {
        self.part_with(inputs, outputs, Equation::has_effect)
    }

    fn part_with(&self, inputs: &[Var], outputs: &[Var], keeps: impl Fn(&Equation) -> bool) -> Program {
        let mut needed = vec![false; self.specs.len()];
        outputs.iter().for_each(|var| needed[var.index()] = true);
        let mut equations: Vec<Equation> = Vec::new();
        for equation in self.equations.iter().rev() {
            if equation.outputs.iter().any(|var| needed[var.index()]) || keeps(equation) {
                equation.inputs.iter().for_each(|var| needed[var.index()] = true);
                equations.push(equation.clone());
            }
        }
        equations.reverse();
        self.with(inputs, equations, outputs)
    }

    /// A program of some of these equations, with the captures that they need.
    pub(crate) fn with(&self, inputs: &[Var], equations: Vec<Equation>, outputs: &[Var]) -> Program {
        let mut read = vec![false; self.specs.len()];
        equations.iter().flat_map(|equation| &equation.inputs).chain(outputs).for_each(|var| read[var.index()] = true);
        let captures = self.captures.iter().filter(|(var, _)| read[var.index()] && !inputs.contains(var)).cloned();
        let captures = captures.collect();
        let (specs, inputs, outputs) = (self.specs.clone(), inputs.to_vec(), outputs.to_vec());
        Program { specs, inputs, captures, equations, outputs }.renumbered()
    }

    /// The same equations with other outputs.
    #[doc(hidden)]
    pub fn returning(&self, outputs: Vec<Var>) -> Program {
        Program { outputs, ..self.clone() }
    }

    /// For each input, whether an output marked in `to` depends on it differentiably.
    #[doc(hidden)]
    pub fn mattering(&self, to: &[bool]) -> Vec<bool> {
        let carries = |var: &&Var| self.spec(**var).dtype.is_float();
        let mut matters = vec![false; self.specs.len()];
        let outputs = self.outputs.iter().zip(to).filter(|(_, to)| **to).map(|(var, _)| var);
        outputs.filter(carries).for_each(|var| matters[var.index()] = true);
        for equation in self.equations.iter().rev().filter(|equation| equation.op.differentiable()) {
            if equation.outputs.iter().any(|var| matters[var.index()]) {
                equation.inputs.iter().filter(carries).for_each(|var| matters[var.index()] = true);
            }
        }
        self.inputs.iter().map(|var| matters[var.index()]).collect()
    }

    /// For each output, whether it depends on an input marked in `from`: differentiably, or in any way.
    #[doc(hidden)]
    pub fn reached(&self, from: &[bool], differentiably: bool) -> Vec<bool> {
        let carries = |var: &Var| !differentiably || self.spec(*var).dtype.is_float();
        let mut reached = vec![false; self.specs.len()];
        for (var, from) in self.inputs.iter().zip(from) {
            reached[var.index()] = *from && carries(var);
        }
        for equation in &self.equations {
            let passes = !differentiably || equation.op.differentiable();
            if passes && equation.inputs.iter().any(|var| reached[var.index()]) {
                equation.outputs.iter().for_each(|var| reached[var.index()] = carries(var));
            }
        }
        self.outputs.iter().map(|var| reached[var.index()]).collect()
    }
}

/// Prints both programs, and where the residuals come from.
impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "forward {}", self.forward)?;
        for (number, residual) in self.residuals.iter().enumerate() {
            let spec = self.backward.spec(self.backward.inputs[number]);
            match residual {
                Residual::Input(place) => writeln!(f, "residual {number}: {spec} = input {place}")?,
                Residual::Output(place) => writeln!(f, "residual {number}: {spec} = output {place}")?,
            }
        }
        write!(f, "backward {}", self.backward)
    }
}
