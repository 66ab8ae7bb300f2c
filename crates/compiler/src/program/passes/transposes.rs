//! transposes - transposes and reshapes are combined and cancelled; the rest move next to products, which read them in place.
//!
//! Elementwise operations run on their operands' original order and shape, before the transpose or reshape: directly after the product, if
//! they follow one. Products with transposed weights have one canonical form: a matmul.

use super::broadcasts::{permuted, regrouped};
use super::edit::{Edit, rewritten};
use super::known::*;
use super::movements::padded;
use super::rule::{Equality, Index, Rule};
use crate::primitive::Attrs;
use crate::program::{Equation, Program, Var};
use crate::tensor::inverse;
use crate::{DType, Shape};
use smallvec::SmallVec;
use std::sync::LazyLock;

pub(super) fn run(program: Program) -> (Program, bool) {
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(RULES));
    rewritten(program, &INDEX.rewrite())
}

pub(super) static RULES: &[Rule] = &[
    Rule::new("f(transpose(x), transpose(y)) = transpose(f(x, y)) for one permutation, or repeated numbers")
        .by(elementwise),
    Rule::new("transpose(transpose(x)) = transpose(x)").by(super::movements::transpose_of_transpose),
    Rule::new("f(reshape(x), reshape(y)) = reshape(f(x, y)) for one shape, or repeated numbers").by(reshaped),
    Rule::new("reshape(reshape(x)) = reshape(x)").by(super::movements::reshape_of_reshape),
    Rule::new("linear(x, w) = matmul(x, transpose(w)) for no bias").by(linear),
    Rule::new("add(matmul(x, w), broadcast(b)) = linear(x, transpose(w), b) for a product read once")
        .by(with_bias)
        .up_to(Equality::Rounding),
    Rule::new("transpose(matmul(x, y)) = matmul(transpose(y), transpose(x)) for a product read once")
        .by(product)
        .up_to(Equality::Rounding),
    Rule::new("sum(matmul(transpose(x), y)) = matmul(transpose(reshape(x)), reshape(y)) for a sum over all products")
        .by(sum_of_products)
        .up_to(Equality::Rounding),
    Rule::new("sum(transpose(x)) = transpose(sum(x))").by(sum).up_to(Equality::Rounding),
];

fn elementwise(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let first = equation.inputs.iter().find_map(|var| edit.source_of(*var, TRANSPOSE))?;
    let (permutation, shape) = (first.0.sizes("permutation"), edit.shape(first.1).clone());
    // All other operands are broadcasts, whose axes can be permuted at no cost.
    let fits = |var: &Var| match edit.source_of(*var, TRANSPOSE) {
        Some((attrs, _)) => attrs.sizes("permutation") == permutation,
        None => edit.source_of(*var, BROADCAST).is_some(),
    };
    if !equation.inputs.iter().all(fits) {
        return None;
    }
    let back = inverse(&permutation);
    let mut operands: SmallVec<[Var; 4]> = SmallVec::new();
    for var in &equation.inputs {
        operands.push(match edit.source_of(*var, TRANSPOSE) {
            Some((_, x)) => x,
            None => {
                let (_, x) = edit.source_of(*var, BROADCAST)?;
                let own = padded(edit.shape(x), permutation.rank());
                let small = permuted(edit, x, &own, &back);
                edit.broadcast(small, &shape)
            }
        });
    }
    let result = edit.call(equation.op, equation.attrs.clone(), &operands);
    Some(edit.transpose(result, &permutation))
}

fn reshaped(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, first) = equation.inputs.iter().find_map(|var| edit.source_of(*var, RESHAPE))?;
    let (shape, to) = (edit.shape(first).clone(), edit.shape(equation.outputs[0]).clone());
    let mut operands: SmallVec<[(Var, Option<Shape>); 4]> = SmallVec::new();
    for var in &equation.inputs {
        if let Some((_, x)) = edit.source_of(*var, RESHAPE) {
            if *edit.shape(x) != shape {
                return None;
            }
            operands.push((x, None));
            continue;
        }
        // The broadcast operand, in the shape that the others come from.
        let (_, x) = edit.source_of(*var, BROADCAST)?;
        let own = padded(edit.shape(x), to.rank());
        operands.push((x, Some(regrouped(&own, &to, &shape)?)));
    }
    let mut aligned: SmallVec<[Var; 4]> = SmallVec::new();
    for (x, own) in operands {
        aligned.push(match own {
            None => x,
            Some(own) => {
                let small = if own.elements() == 1 { Shape::default() } else { own };
                let small = edit.reshape(x, &small);
                edit.broadcast(small, &shape)
            }
        });
    }
    let result = edit.call(equation.op, equation.attrs.clone(), &aligned);
    Some(edit.reshape(result, &to))
}

fn linear(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, w] = equation.inputs[..] else { return None };
    let columns = edit.transpose(w, &[1, 0]);
    Some(edit.call(MATMUL, Attrs::new(), &[x, columns]))
}

/// A row that is added to every row of a product is added when the product is written.
fn with_bias(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [first, second] = equation.inputs[..] else { return None };
    // Half precision rounds the product before the sum.
    let ([rows, columns], DType::F32 | DType::F64) = (&edit.shape(first)[..], edit.spec(first).dtype) else {
        return None;
    };
    let (rows, columns) = (*rows, *columns);
    let parts = |product: Var, row: Var| {
        let (_, inputs) = edit.call_of(product, MATMUL).filter(|_| edit.is_used_once(product))?;
        let (_, b) = edit.source_of(row, BROADCAST)?;
        let is_row = padded(edit.shape(b), 2) == [1, columns] && rows > 1;
        is_row.then_some((inputs[0], inputs[1], b))
    };
    let (x, w, b) = parts(first, second).or_else(|| parts(second, first))?;
    let (w, b) = (edit.transpose(w, &[1, 0]), edit.reshape(b, &Shape::from([columns])));
    Some(edit.call(LINEAR, Attrs::new(), &[x, w, b]))
}

/// Whether a permutation only swaps the last two axes.
fn is_matrix_transpose(permutation: &[usize]) -> bool {
    let rank = permutation.len();
    rank >= 2
        && permutation[..rank - 2].iter().copied().eq(0..rank - 2)
        && permutation[rank - 2..] == [rank - 1, rank - 2]
}

fn product(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (product, permutation) = (equation.inputs[0], equation.attrs.sizes("permutation"));
    let (_, inputs) = edit.call_of(product, MATMUL)?;
    if !is_matrix_transpose(&permutation) || !edit.is_used_once(product) {
        return None;
    }
    let (left, right) = (edit.transpose(inputs[1], &permutation), edit.transpose(inputs[0], &permutation));
    Some(edit.call(MATMUL, Attrs::new(), &[left, right]))
}

/// Sums along axes in memory order instead of through a transpose; the result is smaller to transpose.
fn sum(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (attrs, x) = edit.source_of(equation.inputs[0], TRANSPOSE)?;
    let (permutation, axes) = (attrs.sizes("permutation"), equation.attrs.sizes("axes"));
    if axes.is_empty() {
        return None;
    }
    let mut own: Shape = axes.iter().map(|&axis| permutation[axis]).collect();
    own.sizes_mut().sort_unstable();
    let summed = edit.call(SUM, Attrs::new().with_sizes("axes", own.iter()), &[x]);
    // The position of each remaining axis.
    let kept = (0..permutation.rank()).filter(|axis| !axes.contains(axis)).map(|axis| permutation[axis]);
    let order: SmallVec<[usize; 4]> = kept.map(|axis| (0..axis).filter(|other| !own.contains(other)).count()).collect();
    Some(edit.transpose(summed, &order))
}

/// A sum of products is one product with a longer inner axis, which is already contiguous in memory.
fn sum_of_products(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let product = equation.inputs[0];
    let (_, inputs) = edit.call_of(product, MATMUL).filter(|_| edit.is_used_once(product))?;
    let (attrs, x) = edit.source_of(inputs[0], TRANSPOSE)?;
    let (y, lead) = (inputs[1], edit.shape(product).rank() - 2);
    let is_view =
        |var: Var| edit.definition(var).is_some_and(|equation| is_any(equation.op, &[TRANSPOSE, BROADCAST, SLICE]));
    let sums_all = equation.attrs.sizes("axes").iter().copied().eq(0..lead) && lead > 0;
    // Half precision rounds every product.
    let is_exact = matches!(edit.spec(product).dtype, DType::F32 | DType::F64);
    if !sums_all || !is_exact || !is_matrix_transpose(&attrs.sizes("permutation")) || is_view(x) || is_view(y) {
        return None;
    }
    let [x, y] = [x, y].map(|var| {
        let shape = edit.shape(var).clone();
        let rows = shape[..=lead].iter().product();
        edit.reshape(var, &Shape::from([rows, shape[lead + 1]]))
    });
    let columns = edit.transpose(x, &[1, 0]);
    Some(edit.call(MATMUL, Attrs::new(), &[columns, y]))
}
