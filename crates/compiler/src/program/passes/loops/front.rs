//! Moves computations in front of a loop.

use super::super::known::*;
use super::around::Around;
use super::form::{Facts, Loop, Pair};
use crate::error::OrRaise;
use crate::program::control::through;
use crate::program::{Equation, Var};

/// Values that depend only on constants are computed once and become constants. Views and broadcasts are free at every step and stay,
/// except transposes: a transposed copy makes products faster.
pub(super) fn constants(around: &mut Around, scan: &mut Loop) -> bool {
    let facts = Facts::of(scan);
    let reads =
        scan.body.equations.iter().filter(|equation| varies(&facts, equation)).flat_map(|equation| &equation.inputs);
    let mut stack: Vec<Var> = reads.copied().chain(scan.results()).collect();
    let (mut seen, mut crossing) = (vec![false; scan.body.specs.len()], Vec::new());
    while let Some(var) = stack.pop() {
        if std::mem::replace(&mut seen[var.index()], true) || facts.varies[var.index()] {
            continue;
        }
        let Some(number) = facts.maker[var.index()] else { continue };
        let equation = &scan.body.equations[number];
        match stays(scan, equation) {
            true => stack.extend(&equation.inputs),
            false => crossing.push(var),
        }
    }
    if crossing.is_empty() {
        return false;
    }
    crossing.sort_unstable();
    let inputs: Vec<Var> = scan.consts.iter().map(|pair| pair.inside).collect();
    let operands: Vec<Var> = scan.consts.iter().map(|pair| pair.outside).collect();
    let part = scan.between(&inputs, &crossing);
    let Some(made) = around.add(scan.line, &operands, |v| part.evaluate(&v).or_raise()) else { return false };
    for (var, outside) in crossing.into_iter().zip(made) {
        let inside = scan.fresh(var);
        scan.replace(var, inside);
        scan.consts.push(Pair { inside, outside });
    }
    true
}

fn varies(facts: &Facts, equation: &Equation) -> bool {
    equation.outputs.iter().any(|var| facts.varies[var.index()])
}

/// Whether it is better to compute a constant equation at every step than to read its result from memory.
fn stays(scan: &Loop, equation: &Equation) -> bool {
    let read: usize = equation.inputs.iter().map(|var| own_bytes(scan, *var)).sum();
    match equation.op.is(TRANSPOSE) {
        true => false,
        false => scan.is_view(equation) || (is_elementwise(equation.op) && scan.bytes(equation.outputs[0]) > read),
    }
}

/// The bytes of the memory that a variable, or the base of a view, takes.
fn own_bytes(scan: &Loop, mut var: Var) -> usize {
    let mut bytes = scan.bytes(var);
    while let Some(equation) = scan.body.equations.iter().find(|equation| equation.outputs.contains(&var)) {
        if !scan.is_view(equation) {
            break;
        }
        var = equation.inputs[0];
        bytes = bytes.min(scan.bytes(var));
    }
    bytes
}

/// Products of elements and constants that a recurrence depends on are computed for all steps at once by the batch rules, together with
/// what they need. The results become elements.
pub(super) fn elements(around: &mut Around, scan: &mut Loop) -> bool {
    let facts = Facts::of(scan);
    let (waits, limit) = (waits(scan, &facts), scan.limit(around));
    let mut crossing: Vec<Var> = Vec::new();
    for equation in &scan.body.equations {
        let [output] = equation.outputs[..] else { continue };
        let is_element = facts.varies[output.index()] && !facts.moves[output.index()];
        if is_element && waits[output.index()] && scan.is_heavy(equation) && fits(scan, &facts, output, limit) {
            let last = carried_on(scan, &facts, output);
            if !crossing.contains(&last) {
                crossing.push(last);
            }
        }
    }
    if crossing.is_empty() {
        return false;
    }
    let operands: Vec<Pair> = scan.consts.iter().chain(&scan.elements).copied().collect();
    let inputs: Vec<Var> = operands.iter().map(|pair| pair.inside).collect();
    let outside: Vec<Var> = operands.iter().map(|pair| pair.outside).collect();
    let batched: Vec<bool> = (0..operands.len()).map(|place| place >= scan.consts.len()).collect();
    let (part, reached) = (scan.between(&inputs, &crossing), vec![true; crossing.len()]);
    let length = scan.length;
    let made = around.add(scan.line, &outside, |v| through::map(&part, &v, length, &batched, &reached));
    let Some(made) = made else { return false };
    for (var, outside) in crossing.into_iter().zip(made) {
        let inside = scan.fresh(var);
        scan.replace(var, inside);
        scan.elements.push(Pair { inside, outside });
    }
    true
}

/// By variable, whether it is needed by a carry that is not just a sum.
fn waits(scan: &Loop, facts: &Facts) -> Vec<bool> {
    let mut waits = vec![false; scan.body.specs.len()];
    for carry in scan.carries.iter().filter(|carry| facts.addend(scan, carry).is_none()) {
        waits[carry.next.index()] = true;
    }
    for equation in scan.body.equations.iter().rev() {
        if equation.outputs.iter().any(|var| waits[var.index()]) {
            equation.inputs.iter().for_each(|var| waits[var.index()] = true);
        }
    }
    waits
}

/// Whether all values needed for a variable stay within the limit when stacked for all steps.
fn fits(scan: &Loop, facts: &Facts, var: Var, limit: usize) -> bool {
    let mut stack = vec![var];
    let mut seen = vec![false; scan.body.specs.len()];
    while let Some(var) = stack.pop() {
        let Some(number) = facts.maker[var.index()].filter(|_| facts.varies[var.index()]) else { continue };
        if std::mem::replace(&mut seen[var.index()], true) {
            continue;
        }
        let equation = &scan.body.equations[number];
        if !scan.is_view(equation) && scan.bytes(var).saturating_mul(scan.length) > limit {
            return false;
        }
        stack.extend(&equation.inputs);
    }
    true
}

/// The end of a chain of elementwise operations that starts at `var`, as long as each has a single reader and the result does not grow.
fn carried_on(scan: &Loop, facts: &Facts, mut var: Var) -> Var {
    loop {
        let Some(reader) = scan.body.equations.iter().find(|equation| equation.inputs.contains(&var)) else {
            return var;
        };
        let [output] = reader.outputs[..] else { return var };
        let alone = facts.readers[var.index()] == 1 && !facts.moves[output.index()];
        if !alone || !is_elementwise(reader.op) || scan.bytes(output) > scan.bytes(var) {
            return var;
        }
        var = output;
    }
}
