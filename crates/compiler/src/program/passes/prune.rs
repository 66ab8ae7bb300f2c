//! prune - removes equations and constants that no output needs. Inputs stay, and so do equations with an effect.

use crate::program::Program;

pub(super) fn run(mut program: Program) -> (Program, bool) {
    let before = (program.equations.len(), program.captures.len());
    let mut needed = vec![false; program.specs.len()];
    program.outputs.iter().for_each(|var| needed[var.index()] = true);
    // Go backward: readers of a variable come after its definition.
    let keeps: Vec<bool> = program
        .equations
        .iter()
        .rev()
        .map(|equation| {
            let keeps = equation.has_effect() || equation.outputs.iter().any(|var| needed[var.index()]);
            if keeps {
                equation.inputs.iter().for_each(|var| needed[var.index()] = true);
            }
            keeps
        })
        .collect();
    let mut keeps = keeps.into_iter().rev();
    program.equations.retain(|_| keeps.next().expect("one for each equation"));
    program.captures.retain(|(var, _)| needed[var.index()]);
    let changed = before != (program.equations.len(), program.captures.len());
    (program.renumbered(), changed)
}
