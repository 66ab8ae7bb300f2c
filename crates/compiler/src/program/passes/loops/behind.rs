//! Moves computations behind a loop: sums over all steps, and products that only leave the loop.

use super::super::known::*;
use super::around::Around;
use super::form::{Carry, Facts, Loop, Pair};
use crate::primitive::Dependency;
use crate::program::ProgramAttrs;
use crate::program::Var;
use crate::program::control::{stacked, through};
use crate::{DType, Tensor};

/// The values from which a result is computed behind the loop.
#[derive(Default)]
struct Cut {
    /// Constants, elements and outputs.
    known: Vec<Var>,
    /// Values that have to be stacked for it.
    new: Vec<Var>,
    /// The equation that computes it, ignoring views.
    core: Option<usize>,
}

pub(super) fn run(around: &mut Around, scan: &mut Loop) -> bool {
    let mut changed = false;
    // Values stacked for products are then available for sums.
    for products in [true, false] {
        for carry in scan.carries.clone() {
            changed |= sum(around, scan, &carry, products);
        }
    }
    for given in scan.given.clone() {
        changed |= product(around, scan, given);
    }
    changed
}

/// A carry that is only added to is the sum of the terms of all steps.
fn sum(around: &mut Around, scan: &mut Loop, carry: &Carry, products: bool) -> bool {
    let facts = Facts::of(scan);
    let exact = matches!(scan.body.spec(carry.inside).dtype, DType::F32 | DType::F64 | DType::I64);
    let Some(addend) = facts.addend(scan, carry).filter(|_| exact) else { return false };
    let terms = terms(scan, &facts, addend);
    let cuts: Vec<Cut> = terms.iter().map(|term| cut(scan, &facts, *term, false)).collect();
    let is_product = |cut: &Cut| cut.core.is_some_and(|core| scan.is_heavy(&scan.body.equations[core]));
    let is_simple = |cut: &Cut| {
        let simple = |core: usize| {
            let op = scan.body.equations[core].op;
            is_elementwise(op) || op.dependency() == Dependency::Reduction
        };
        cut.new.is_empty() && cut.core.is_none_or(simple)
    };
    if !cuts.iter().all(|cut| is_product(cut) || is_simple(cut)) || products != cuts.iter().any(is_product) {
        return false;
    }
    let recurs = terms.iter().all(|term| facts.moves[term.index()]);
    let all = joined(cuts);
    if !is_cheap(around, scan, &all.new, scan.bytes(carry.inside), recurs) {
        return false;
    }
    let first = (!around.is_zero(carry.first)).then_some(carry.first);
    let made = leave(around, scan, all, &terms, carry.last, first, |stacks, first| {
        let sums = stacks.into_iter().map(|stack| stack.sum_over(0));
        sums.chain(first).reduce(|sum, term| term + sum).expect("there is a term")
    });
    if made {
        scan.carries.retain(|other| other.inside != carry.inside);
    }
    made
}

/// The terms of a sum that nothing else reads.
fn terms(scan: &Loop, facts: &Facts, addend: Var) -> Vec<Var> {
    let (mut stack, mut terms) = (vec![addend], Vec::new());
    while let Some(var) = stack.pop() {
        let sum = facts.maker[var.index()].map(|number| &scan.body.equations[number]);
        let sum = sum.filter(|sum| sum.op.is(ADD) && facts.readers[var.index()] == 1);
        match sum {
            Some(sum) => stack.extend(sum.inputs.iter().rev()),
            None => terms.push(var),
        }
    }
    terms
}

/// A product with constants that only leaves the loop becomes one product over all steps.
fn product(around: &mut Around, scan: &mut Loop, given: Pair) -> bool {
    let facts = Facts::of(scan);
    if facts.readers[given.inside.index()] != 1 || !facts.moves[given.inside.index()] {
        return false;
    }
    let cut = cut(scan, &facts, given.inside, true);
    let with_constants = |core: usize| {
        let equation = &scan.body.equations[core];
        scan.is_heavy(equation) && equation.inputs.iter().any(|var| !facts.varies[var.index()])
    };
    if !cut.core.is_some_and(with_constants) || !is_cheap(around, scan, &cut.new, scan.bytes(given.inside), true) {
        return false;
    }
    let made = leave(around, scan, cut, &[given.inside], given.outside, None, |mut stacks, _| stacks.swap_remove(0));
    if made {
        scan.given.retain(|other| *other != given);
    }
    made
}

/// Whether stacking these values moves at most `bytes` bytes per step, and needs little memory.
fn is_cheap(around: &Around, scan: &Loop, new: &[Var], bytes: usize, recurs: bool) -> bool {
    let stacked: usize = new.iter().map(|var| scan.bytes(*var)).sum();
    let fits = |var: &Var| scan.bytes(*var).saturating_mul(scan.length) <= scan.limit(around);
    new.is_empty() || (recurs && stacked <= bytes && new.iter().all(fits))
}

/// How a value can be computed behind the loop; `leaves` means that it is an output that is to be computed there.
fn cut(scan: &Loop, facts: &Facts, value: Var, leaves: bool) -> Cut {
    let is_known = |var: Var| {
        let mut known = scan.consts.iter().chain(&scan.elements).chain(&scan.given);
        known.any(|pair| pair.inside == var) && !(leaves && var == value)
    };
    let mut cut = Cut::default();
    let mut seen = vec![false; scan.body.specs.len()];
    // Each with a flag: whether it is a view of the value itself.
    let mut stack = vec![(value, true)];
    while let Some((var, is_value)) = stack.pop() {
        if std::mem::replace(&mut seen[var.index()], true) {
            continue;
        }
        if is_known(var) {
            cut.known.push(var);
            continue;
        }
        let Some(number) = facts.maker[var.index()] else {
            // Constants of the body are repeated.
            if facts.varies[var.index()] {
                cut.new.push(var);
            }
            continue;
        };
        let equation = &scan.body.equations[number];
        let is_single = is_built_in(equation.op) && equation.outputs.len() == 1;
        let can_leave = is_single && equation.attrs.bodies().next().is_none();
        if scan.is_view(equation) && scan.bytes(equation.inputs[0]) <= scan.bytes(var) {
            stack.push((equation.inputs[0], is_value));
        } else if is_value && can_leave {
            cut.core = Some(number);
            stack.extend(equation.inputs.iter().map(|var| (*var, false)));
        } else if !facts.varies[var.index()] || (!facts.moves[var.index()] && is_elementwise(equation.op)) {
            stack.extend(equation.inputs.iter().map(|var| (*var, false)));
        } else {
            cut.new.push(var);
        }
    }
    cut
}

/// The union of several cuts, without duplicates.
fn joined(cuts: Vec<Cut>) -> Cut {
    let mut all = Cut::default();
    for cut in cuts {
        all.known.extend(cut.known);
        all.new.extend(cut.new);
    }
    for vars in [&mut all.known, &mut all.new] {
        vars.sort_unstable();
        vars.dedup();
    }
    all
}

/// Computes `values` for all steps behind the loop, and replaces `output` by the result of `finish` on the stacked values.
fn leave(
    around: &mut Around,
    scan: &mut Loop,
    cut: Cut,
    values: &[Var],
    output: Var,
    first: Option<Var>,
    finish: impl FnOnce(Vec<Tensor>, Option<Tensor>) -> Tensor,
) -> bool {
    let inputs: Vec<Var> = cut.known.iter().chain(&cut.new).copied().collect();
    let part = scan.between(&inputs, values);
    let (length, before) = (scan.length, scan.given.len());
    for &inside in &cut.new {
        let outside = around.fresh(stacked(scan.body.spec(inside), length));
        scan.given.push(Pair { inside, outside });
    }
    let is_const = |var: &Var| scan.consts.iter().any(|pair| pair.inside == *var);
    let batched: Vec<bool> = inputs.iter().map(|var| !is_const(var)).collect();
    let outside = |var: &Var| {
        let mut all = scan.consts.iter().chain(&scan.elements).chain(scan.given.iter().rev());
        all.find(|pair| pair.inside == *var).expect("it is known").outside
    };
    let operands: Vec<Var> = inputs.iter().map(outside).chain(first).collect();
    let reached = vec![true; values.len()];
    let made = around.add_behind(scan.line, operands, vec![output], |mut v| {
        let rest = v.split_off(inputs.len());
        let stacks = through::map(&part, &v, length, &batched, &reached);
        vec![finish(stacks, rest.into_iter().next())]
    });
    if !made {
        scan.given.truncate(before);
    }
    made
}
