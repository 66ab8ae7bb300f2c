//! A call under `compile`, `jvp` and `vmap`, compared with the same call without.

use super::compare::{Tolerance, outputs_difference};
use wengert::prelude::*;

/// What the eager call was made with, and what it gave.
pub struct Eager {
    pub leaves: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    /// The vector-Jacobian product for each leaf, with the recorded cotangents.
    pub gradients: Vec<Tensor>,
}

/// How many elements a batch has: a size that few recorded axes have.
const BATCH: usize = 3;

/// The compiled call has the outputs of the eager one.
pub fn compiled(f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, eager: &Eager, tolerance: Tolerance) -> Option<String> {
    outputs_difference(&compile(f).call(&eager.leaves), &eager.outputs, tolerance)
}

/// `< c, J v > = < J^T c, v >` for the recorded cotangents `c` and a fixed direction `v`.
pub fn forward(
    f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>,
    eager: &Eager,
    differentiable: &[usize],
    tolerance: Tolerance,
) -> Option<String> {
    let direction = directions(&eager.leaves);
    let (outputs, tangents) = jvp(f, &eager.leaves, &direction);
    let primal = outputs_difference(&outputs, &eager.outputs, tolerance);
    if primal.is_some() {
        return primal;
    }
    let tangents: Vec<Tensor> = differentiable.iter().map(|&position| tangents[position].clone()).collect();
    let cotangents: Vec<Tensor> =
        tangents.iter().enumerate().map(|(index, tangent)| waves(tangent, index, f64::cos)).collect();
    let (forward, first) = inner(&cotangents, &tangents);
    let (reverse, second) = inner(&eager.gradients, &direction);
    // A gradient is rounded to the dtype of its leaf.
    let tolerance =
        if eager.leaves.iter().all(|leaf| leaf.dtype() == DType::F64) { tolerance } else { Tolerance::SINGLE };
    let agrees = tolerance.allows(forward, reverse, first.max(second));
    (!agrees).then(|| format!("< c, J v > is {forward:?}, < J^T c, v > is {reverse:?}"))
}

/// Every row of a batch of calls is the call of that row. The first row is the recorded input, the others differ a little.
pub fn batched(f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>, eager: &Eager, tolerance: Tolerance) -> Option<String> {
    let direction = directions(&eager.leaves);
    let moved = |row: usize| -> Vec<Tensor> {
        let step = |(leaf, v): (&Tensor, &Tensor)| leaf + v * (0.01 * row as f64);
        eager.leaves.iter().zip(&direction).map(step).collect()
    };
    let rows: Vec<Vec<Tensor>> =
        (0..BATCH).map(|row| if row == 0 { eager.leaves.clone() } else { moved(row) }).collect();
    let stacked = |leaf: usize| Tensor::stack(&rows.iter().map(|row| row[leaf].clone()).collect::<Vec<Tensor>>(), 0);
    let batch = vmap(&f)(&(0..eager.leaves.len()).map(stacked).collect());
    rows.iter().enumerate().find_map(|(number, row)| {
        let found: Vec<Tensor> = batch.iter().map(|output| output.select(0, number as isize)).collect();
        let expected = if number == 0 { eager.outputs.clone() } else { f(row) };
        outputs_difference(&found, &expected, tolerance).map(|text| format!("row {number}: {text}"))
    })
}

/// The numbers `wave(0.37 e + 0.11 index + 0.2)` for the elements `e` of a tensor like `like`.
pub fn waves(like: &Tensor, index: usize, wave: fn(f64) -> f64) -> Tensor {
    let numbers = (0..like.elements()).map(|e| wave(0.37 * e as f64 + 0.11 * index as f64 + 0.2));
    Tensor::from_vec(numbers.collect::<Vec<f64>>(), like.shape()).cast(like.dtype())
}

/// A direction for each leaf; all are different, and different from the cotangents.
fn directions(leaves: &[Tensor]) -> Vec<Tensor> {
    let direction = |(index, leaf): (usize, &Tensor)| {
        let numbers = (0..leaf.elements()).map(|e| (0.59 * e as f64 + 0.23 * index as f64 + 0.7).sin());
        Tensor::from_vec(numbers.collect::<Vec<f64>>(), leaf.shape()).cast(leaf.dtype())
    };
    leaves.iter().enumerate().map(direction).collect()
}

/// The sum of products of all elements, and the sum of their absolute values, to which rounding errors are relative.
fn inner(a: &[Tensor], b: &[Tensor]) -> (f64, f64) {
    let numbers = |list: &[Tensor]| -> Vec<f64> { list.iter().flat_map(Tensor::to_f64_vec).collect() };
    let products: Vec<f64> = numbers(a).iter().zip(numbers(b)).map(|(x, y)| x * y).collect();
    (products.iter().sum(), products.iter().map(|product| product.abs()).sum())
}
