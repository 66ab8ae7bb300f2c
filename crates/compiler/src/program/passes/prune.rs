//! prune - what no output needs is dropped: equations, and constants. Inputs stay, and so does what has an effect.

use crate::program::Program;

pub(super) fn run(mut program: Program) -> (Program, bool) {
    let before = (program.equations.len(), program.captures.len());
    let mut needed = vec![false; program.specs.len()];
    program.outputs.iter().for_each(|var| needed[var.index()] = true);
    // What reads a variable comes after what defines it.
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
