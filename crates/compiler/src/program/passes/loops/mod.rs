//! loops - moves computations out of scans, in front of them or behind them, where they run for all steps at once.
//!
//! Values that depend only on constants are computed once. Products of elements and constants that a recurrence depends on become one
//! product over all steps. So do sums of products over all steps, and products that only leave the loop. Unused carries and outputs are
//! removed. A loop of one step is replaced by that step, a loop of none by its carry.
//!
//! Loops are often written to save memory, so stacking is bounded: a value that is stacked by this pass takes at most `MOST` times the
//! bytes that the loop reads and writes anyway. If only sums are carried, no new value is stacked.

mod around;
mod behind;
mod form;
mod front;
mod tidy;

use super::known::*;
use super::rule::{Equality, Rule};
use crate::program::{Equation, Program};
use around::Around;
use form::Loop;

/// The rewrites of the pass; each is a function of whole loops.
pub(super) static RULES: &[Rule] = &[
    Rule::new("scan(..) of no steps = what it carries"),
    Rule::new("scan(..) of one step = the step"),
    Rule::new("scan(..) = scan(..) without what nothing reads"),
    Rule::new("scan(c) = c for a carry that never changes"),
    Rule::new("scan(x, x) = scan(x)"),
    Rule::new("scan(w) = scan(f(w)) for what depends on constants"),
    Rule::new("scan(x) = scan(f(x)) for products of elements that a recurrence reads").up_to(Equality::Rounding),
    Rule::new("scan(c + u) = c + sum(u) for a carry that is only added to").up_to(Equality::Rounding),
    Rule::new("scan(..) = f(scan(..)) for products that only leave it").up_to(Equality::Rounding),
];

fn is_scan(equation: &Equation) -> bool {
    equation.op.is(SCAN)
}

pub(super) fn run(mut program: Program) -> (Program, bool) {
    if !program.equations.iter().any(is_scan) {
        return (program, false);
    }
    let equations = std::mem::take(&mut program.equations);
    let mut around = Around::new(program, &equations);
    let mut changed = false;
    for mut equation in equations {
        around.rename(&mut equation.inputs);
        if is_scan(&equation) && around.is_read(&equation) {
            changed |= rewrite(&mut around, equation);
        } else {
            around.push(equation);
        }
    }
    match changed {
        true => (super::prune::run(around.finish()).0, true),
        false => (around.finish(), false),
    }
}

/// Adds the rewritten scan. Returns whether it changed.
fn rewrite(around: &mut Around, equation: Equation) -> bool {
    let mut scan = Loop::of(&equation);
    if scan.length <= 1 {
        tidy::unroll(around, &scan);
        return true;
    }
    let mut changed = false;
    while tidy::run(around, &mut scan)
        || front::constants(around, &mut scan)
        || front::elements(around, &mut scan)
        || behind::run(around, &mut scan)
    {
        changed = true;
    }
    match changed {
        true => around.push_scan(scan, equation),
        false => around.push(equation),
    }
    changed
}
