//! Programs that run one after the other, as one program.

use super::{Equation, Program, Var, identity};
use rustc_hash::FxHashMap;

/// A program that computes some values of a whole program from others.
pub(crate) struct Part<'a> {
    pub program: &'a Program,
    /// The variables of the whole that are its inputs and outputs.
    pub inputs: &'a [Var],
    pub outputs: &'a [Var],
}

/// The inputs, captures and outputs of `whole`, with the equations of all parts. Also returns the variable of every variable of each part.
pub(crate) fn joined(whole: &Program, parts: &[Part<'_>]) -> (Program, Vec<Vec<Var>>) {
    let mut program = Program::default();
    let fresh = |program: &mut Program, of: &Program, var: Var| {
        program.specs.push(of.spec(var).clone());
        Var::new(program.specs.len() - 1)
    };
    let mut known: Vec<Option<Var>> = vec![None; whole.variables()];
    for input in whole.inputs() {
        let var = fresh(&mut program, whole, *input);
        program.inputs.push(var);
        known[input.index()] = Some(var);
    }
    let mut captured = FxHashMap::default();
    for (old, tensor) in whole.captures() {
        let var = fresh(&mut program, whole, *old);
        program.captures.push((var, tensor.clone()));
        known[old.index()] = Some(var);
        captured.insert(identity(tensor), var);
    }
    let mut numbers = Vec::new();
    for part in parts {
        let mut own: Vec<Option<Var>> = vec![None; part.program.variables()];
        for (var, of) in part.program.inputs().iter().zip(part.inputs) {
            own[var.index()] = known[of.index()];
        }
        for (var, tensor) in part.program.captures() {
            own[var.index()] = captured.get(&identity(tensor)).copied();
        }
        let now = |own: &[Option<Var>], var: &Var| own[var.index()].expect("it is defined before it is read");
        for equation in part.program.equations() {
            let inputs = equation.inputs.iter().map(|var| now(&own, var)).collect();
            for var in &equation.outputs {
                own[var.index()] = Some(fresh(&mut program, part.program, *var));
            }
            let outputs = equation.outputs.iter().map(|var| now(&own, var)).collect();
            program.equations.push(Equation { inputs, outputs, ..equation.clone() });
        }
        for (var, of) in part.program.outputs().iter().zip(part.outputs) {
            known[of.index()] = Some(now(&own, var));
        }
        numbers.push(own.into_iter().map(|var| var.unwrap_or(Var::new(0))).collect());
    }
    program.outputs = whole.outputs().iter().map(|var| known[var.index()].expect("every output is computed")).collect();
    (program, numbers)
}
