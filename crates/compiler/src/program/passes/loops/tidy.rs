//! Removes unneeded parts of loops.

use super::around::Around;
use super::form::{Loop, Pair};
use crate::error::OrRaise;
use crate::program::{Equation, Var};
use crate::{Shape, Tensor};

/// Unrolls a loop of at most one step.
pub(super) fn unroll(around: &mut Around, scan: &Loop) {
    let inside: Vec<Var> =
        scan.consts.iter().map(|pair| pair.inside).chain(scan.carries.iter().map(|carry| carry.inside)).collect();
    let outside = scan.consts.iter().map(|pair| pair.outside).chain(scan.carries.iter().map(|carry| carry.first));
    let operands: Vec<Var> = outside.chain(scan.elements.iter().map(|pair| pair.outside)).collect();
    let inputs: Vec<Var> = inside.iter().copied().chain(scan.elements.iter().map(|pair| pair.inside)).collect();
    let results: Vec<Var> = scan.results().collect();
    let step = scan.body.with(&inputs, scan.body.equations.clone(), &results);
    let stacked = |var: Var| scan.body.spec(var).shape.prepended(scan.length);
    let made = around.add(scan.line, &operands, |v| {
        if scan.length == 0 {
            let none = scan
                .given
                .iter()
                .map(|pair| Tensor::zeros(stacked(pair.inside)).cast(scan.body.spec(pair.inside).dtype));
            return v[scan.consts.len()..inside.len()].iter().cloned().chain(none).collect();
        }
        let element = |(place, x): (usize, &Tensor)| match place < inside.len() {
            true => x.clone(),
            false => x.reshape(Shape::from(&x.shape()[1..])),
        };
        let v: Vec<Tensor> = v.iter().enumerate().map(element).collect();
        let mut y = step.evaluate(&v).or_raise();
        for (y, pair) in y[scan.carries.len()..].iter_mut().zip(&scan.given) {
            *y = y.reshape(stacked(pair.inside));
        }
        y
    });
    let made = made.expect("a step that was traced can be traced again");
    let outputs = scan.carries.iter().map(|carry| carry.last).chain(scan.given.iter().map(|pair| pair.outside));
    outputs.zip(made).for_each(|(var, made)| around.replace(var, made));
}

/// Drops, merges and moves operands and outputs. Returns whether anything changed.
pub(super) fn run(around: &mut Around, scan: &mut Loop) -> bool {
    let before = size(scan);
    drop_unread(around, scan);
    fixed_carries(around, scan);
    known_outputs(around, scan);
    merge(around, scan);
    size(scan) != before
}

fn size(scan: &Loop) -> [usize; 4] {
    [scan.consts.len(), scan.carries.len(), scan.elements.len(), scan.given.len()]
}

/// Drops everything that no result and no effect needs. A carry that only feeds itself is not needed.
fn drop_unread(around: &Around, scan: &mut Loop) {
    scan.given.retain(|pair| around.reads(pair.outside));
    let mut needed = vec![false; scan.body.specs.len()];
    let mut kept: Vec<bool> = scan.carries.iter().map(|carry| around.reads(carry.last)).collect();
    scan.given.iter().for_each(|pair| needed[pair.inside.index()] = true);
    loop {
        for (carry, _) in scan.carries.iter().zip(&kept).filter(|(_, kept)| **kept) {
            needed[carry.next.index()] = true;
        }
        for equation in scan.body.equations.iter().rev() {
            if equation.has_effect() || equation.outputs.iter().any(|var| needed[var.index()]) {
                equation.inputs.iter().for_each(|var| needed[var.index()] = true);
            }
        }
        let now: Vec<bool> =
            scan.carries.iter().zip(&kept).map(|(c, kept)| *kept || needed[c.inside.index()]).collect();
        if now == kept {
            break;
        }
        kept = now;
    }
    let mut keeps = kept.into_iter();
    scan.carries.retain(|_| keeps.next().expect("one for each carry"));
    let is_needed =
        |equation: &Equation| equation.has_effect() || equation.outputs.iter().any(|var| needed[var.index()]);
    scan.body.equations.retain(is_needed);
    scan.consts.retain(|pair| needed[pair.inside.index()]);
    scan.elements.retain(|pair| needed[pair.inside.index()]);
}

/// A carry that every step passes on unchanged is a constant.
fn fixed_carries(around: &mut Around, scan: &mut Loop) {
    let consts = &mut scan.consts;
    scan.carries.retain(|carry| {
        let is_fixed = carry.inside == carry.next;
        if is_fixed {
            consts.push(Pair { inside: carry.inside, outside: carry.first });
            around.replace(carry.last, carry.first);
        }
        !is_fixed
    });
}

/// Replaces outputs that are known without the loop.
fn known_outputs(around: &mut Around, scan: &mut Loop) {
    let (consts, elements, captures) = (&scan.consts, &scan.elements, &scan.body.captures);
    let (length, line) = (scan.length, scan.line);
    scan.given.retain(|given| {
        let is_it = |pair: &&Pair| pair.inside == given.inside;
        if let Some(element) = elements.iter().find(is_it) {
            around.replace(given.outside, element.outside);
            return false;
        }
        let constant = consts.iter().find(is_it);
        let captured = captures.iter().find(|(var, _)| *var == given.inside);
        if constant.is_none() && captured.is_none() {
            return true;
        }
        let operands: Vec<Var> = constant.iter().map(|pair| pair.outside).collect();
        let made = around.add(line, &operands, |v| {
            let one = v.first().or(captured.map(|(_, tensor)| tensor)).expect("it is one of them");
            vec![one.broadcast_to(Shape::from(one.shape()).prepended(length))]
        });
        around.replace(given.outside, made.expect("a repetition")[0]);
        false
    });
}

/// Merges equal operands and equal outputs.
fn merge(around: &mut Around, scan: &mut Loop) {
    let mut same: Vec<(Var, Var)> = Vec::new();
    for pairs in [&mut scan.consts, &mut scan.elements] {
        let mut seen: Vec<Pair> = Vec::new();
        pairs.retain(|pair| match seen.iter().find(|other| other.outside == pair.outside) {
            Some(other) => {
                same.push((pair.inside, other.inside));
                false
            }
            None => {
                seen.push(*pair);
                true
            }
        });
    }
    same.into_iter().for_each(|(var, other)| scan.replace(var, other));
    let mut place = 0;
    while place < scan.carries.len() {
        let carry = scan.carries[place];
        let other = scan.carries[..place].iter().find(|other| (other.first, other.next) == (carry.first, carry.next));
        match other.copied() {
            Some(other) => {
                scan.carries.remove(place);
                scan.replace(carry.inside, other.inside);
                around.replace(carry.last, other.last);
                place = 0;
            }
            None => place += 1,
        }
    }
    let mut seen: Vec<Pair> = Vec::new();
    scan.given.retain(|pair| match seen.iter().find(|other| other.inside == pair.inside) {
        Some(other) => {
            around.replace(pair.outside, other.outside);
            false
        }
        None => {
            seen.push(*pair);
            true
        }
    });
}
