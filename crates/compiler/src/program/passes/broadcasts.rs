//! broadcasts - operations on repeated values are computed once, and the result is repeated.
//!
//! Broadcasts move down past elementwise operations and other movements as long as that is free; scalars stay at rank 0.

use super::edit::{Edit, rewritten};
use super::known::*;
use super::movements::{padded, slice_attrs};
use super::rule::{Equality, Index, Rule};
use crate::Shape;
use crate::program::{Equation, Program, Var};
use crate::tensor::broadcast;
use smallvec::SmallVec;
use std::sync::LazyLock;

pub(super) fn run(program: Program) -> (Program, bool) {
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(RULES));
    rewritten(program, &INDEX.rewrite())
}

pub(super) static RULES: &[Rule] = &[
    Rule::new("f(broadcast(x), broadcast(y)) = broadcast(f(x, y))").by(elementwise),
    Rule::new("reshape(broadcast(x)) = broadcast(reshape(x)) for axes that stay apart").by(reshape),
    Rule::new("transpose(broadcast(x)) = broadcast(transpose(x))").by(transpose),
    Rule::new("slice(broadcast(x)) = broadcast(slice(x))").by(slice),
    Rule::new("matmul(x, broadcast(w)) = reshape(matmul(reshape(x), w)) for one matrix w")
        .by(product)
        .up_to(Equality::Rounding),
];

fn elementwise(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let whole = edit.shape(equation.outputs[0]).clone();
    let mut sources: SmallVec<[Var; 4]> = SmallVec::new();
    let mut small = Shape::default();
    for var in &equation.inputs {
        let (_, source) = edit.source_of(*var, BROADCAST)?;
        small = broadcast(&small, edit.shape(source))?;
        sources.push(source);
    }
    if small.elements() >= whole.elements() {
        return None;
    }
    let operands: SmallVec<[Var; 4]> = sources.into_iter().map(|source| edit.broadcast(source, &small)).collect();
    let result = edit.call(equation.op, equation.attrs.clone(), &operands);
    Some(edit.broadcast(result, &whole))
}

/// The operand of a broadcast, with leading axes of size one up to the rank of the result.
fn aligned(edit: &Edit<'_>, repeated: Var) -> Option<(Var, Shape)> {
    let (_, x) = edit.source_of(repeated, BROADCAST)?;
    Some((x, padded(edit.shape(x), edit.shape(repeated).rank())))
}

fn reshape(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (x, own) = aligned(edit, equation.inputs[0])?;
    let shape = edit.shape(equation.outputs[0]).clone();
    // A scalar has no axes to keep apart.
    let own = match own.elements() {
        1 => Shape::default(),
        _ => regrouped(&own, edit.shape(equation.inputs[0]), &shape)?,
    };
    let reshaped = edit.reshape(x, &own);
    Some(edit.broadcast(reshaped, &shape))
}

/// The shape whose broadcast to `to` equals the reshape of the broadcast of `own` to `from`: axes that merge or split must be repeated
/// together or not at all.
pub(super) fn regrouped(own: &[usize], from: &[usize], to: &[usize]) -> Option<Shape> {
    if from.contains(&0) {
        return None;
    }
    let mut new: Shape = to.iter().map(|_| 1).collect();
    let (mut old, mut axis) = (0, 0);
    while old < from.len() {
        if from[old] == 1 {
            old += 1;
            continue;
        }
        while to[axis] == 1 {
            axis += 1;
        }
        let (mut old_end, mut new_end) = (old + 1, axis + 1);
        let (mut old_product, mut new_product) = (from[old], to[axis]);
        while old_product != new_product {
            if old_product < new_product {
                old_product *= from[old_end];
                old_end += 1;
            } else {
                new_product *= to[new_end];
                new_end += 1;
            }
        }
        if own[old..old_end] == from[old..old_end] {
            new.sizes_mut()[axis..new_end].copy_from_slice(&to[axis..new_end]);
        } else if own[old..old_end].iter().any(|&size| size != 1) {
            return None;
        }
        (old, axis) = (old_end, new_end);
    }
    Some(new)
}

fn transpose(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (x, own) = aligned(edit, equation.inputs[0])?;
    let shape = edit.shape(equation.outputs[0]).clone();
    let small = permuted(edit, x, &own, &equation.attrs.sizes("permutation"));
    Some(edit.broadcast(small, &shape))
}

/// The repeated tensor with permuted axes; a scalar has none.
pub(super) fn permuted(edit: &mut Edit<'_>, x: Var, own: &Shape, permutation: &[usize]) -> Var {
    if own.elements() == 1 {
        return x;
    }
    let aligned = edit.reshape(x, own);
    edit.transpose(aligned, permutation)
}

fn slice(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (x, own) = aligned(edit, equation.inputs[0])?;
    let (whole, shape) = (edit.shape(equation.inputs[0]).clone(), edit.shape(equation.outputs[0]).clone());
    if shape.elements() == 0 || own == whole {
        return None;
    }
    let part = |name: &str, repeated: i64| -> SmallVec<[i64; 4]> {
        let part = equation.attrs.ints(name).iter().enumerate();
        part.map(|(axis, &value)| if own[axis] == whole[axis] { value } else { repeated }).collect()
    };
    let attrs = slice_attrs(&part("start", 0), &part("stop", 1), &part("step", 1));
    let kept: Shape = (0..own.rank()).map(|axis| if own[axis] == whole[axis] { shape[axis] } else { 1 }).collect();
    let small = match kept == own {
        true => x,
        false => {
            let aligned = edit.reshape(x, &own);
            edit.call(SLICE, attrs, &[aligned])
        }
    };
    Some(edit.broadcast(small, &shape))
}

/// A batch of matrices with one common right operand is a single product of all their rows.
fn product(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, right] = equation.inputs[..] else { return None };
    let (w, own) = aligned(edit, right)?;
    let (shape, to) = (edit.shape(x).clone(), edit.shape(equation.outputs[0]).clone());
    let rank = shape.rank();
    let is_shared = own[..rank - 2].iter().all(|&size| size == 1) && own[rank - 2..] == edit.shape(right)[rank - 2..];
    // Rows of a view may not merge without a copy.
    let is_view = edit.definition(x).is_some_and(|equation| is_any(equation.op, &[TRANSPOSE, BROADCAST, SLICE]));
    if !is_shared || is_view || rank == 2 {
        return None;
    }
    let matrix = edit.reshape(w, &Shape::from(&own[rank - 2..]));
    let rows = edit.reshape(x, &Shape::from([shape[..rank - 1].iter().product(), shape[rank - 1]]));
    let product = edit.call(MATMUL, equation.attrs.clone(), &[rows, matrix]);
    Some(edit.reshape(product, &to))
}
