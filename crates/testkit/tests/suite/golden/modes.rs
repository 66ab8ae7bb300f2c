//! Compares a call under `compile`, `jvp` and `vmap` with the plain call.

use super::compare::{Tolerance, list_difference};
use wengert::prelude::*;

/// The arguments and results of the eager call.
pub struct Eager {
    pub leaves: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    /// The vector-Jacobian product for each leaf, with the recorded cotangents.
    pub gradients: Vec<Tensor>,
}

/// The batch size: a size that few recorded axes have.
const BATCH: usize = 3;

/// The compiled call has the outputs of the eager one, and compiled gradients equal the eager ones.
pub fn compiled(
    f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>,
    eager: &Eager,
    differentiable: &[usize],
    tolerance: Tolerance,
) -> Option<String> {
    let outputs = compile(&f).call(&eager.leaves);
    let gradients = compile(with_gradients(f, differentiable)).call(&eager.leaves).1;
    list_difference("output", &outputs, &eager.outputs, tolerance)
        .or_else(|| list_difference("gradient of leaf", &gradients, &eager.gradients, tolerance))
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
    let primal = list_difference("output", &outputs, &eager.outputs, tolerance);
    if primal.is_some() {
        return primal;
    }
    let tangents: Vec<Tensor> = differentiable.iter().map(|&position| tangents[position].clone()).collect();
    let cotangents: Vec<Tensor> =
        tangents.iter().enumerate().map(|(index, tangent)| waves(tangent, index, f64::cos)).collect();
    let (forward, first) = inner(&cotangents, &tangents);
    let (reverse, second) = inner(&eager.gradients, &direction);
    let agrees = tolerance.allows(forward, reverse, first.max(second));
    (!agrees).then(|| format!("< c, J v > is {forward:?}, < J^T c, v > is {reverse:?}"))
}

/// Every row of a batch of calls has the outputs and gradients of the call for that row. The first row is the recorded input, the others
/// are slightly perturbed.
pub fn batched(
    f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>,
    eager: &Eager,
    differentiable: &[usize],
    tolerance: Tolerance,
) -> Option<String> {
    let direction = directions(&eager.leaves);
    let moved = |row: usize| -> Vec<Tensor> {
        let step = |(leaf, v): (&Tensor, &Tensor)| if row == 0 { leaf.clone() } else { leaf + v * (0.01 * row as f64) };
        eager.leaves.iter().zip(&direction).map(step).collect()
    };
    let rows: Vec<Vec<Tensor>> = (0..BATCH).map(moved).collect();
    let stacked = |leaf: usize| Tensor::stack(&rows.iter().map(|row| row[leaf].clone()).collect::<Vec<Tensor>>(), 0);
    let leaves: Vec<Tensor> = (0..eager.leaves.len()).map(stacked).collect();
    let pulled = with_gradients(&f, differentiable);
    let (outputs, gradients) = (vmap(&f)(&leaves), vmap(&pulled)(&leaves).1);
    rows.iter().enumerate().find_map(|(number, row)| {
        let of_row = |batch: &[Tensor]| -> Vec<Tensor> {
            batch.iter().map(|output| output.select(0, number as isize)).collect()
        };
        let wrong = list_difference("output", &of_row(&outputs), &f(row), tolerance)
            .or_else(|| list_difference("gradient of leaf", &of_row(&gradients), &pulled(row).1, tolerance));
        wrong.map(|text| format!("row {number}: {text}"))
    })
}

/// The outputs of a call, and the vector-Jacobian product for each leaf with the recorded cotangents.
fn with_gradients(
    f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>,
    differentiable: &[usize],
) -> impl Fn(&Vec<Tensor>) -> (Vec<Tensor>, Vec<Tensor>) {
    move |leaves| {
        let (outputs, pullback) = vjp(&f, leaves);
        let cotangent = |(position, output): (usize, &Tensor)| {
            let index = differentiable.iter().position(|&differentiable| differentiable == position);
            index.map_or_else(|| output.full_like(0.0), |index| waves(output, index, f64::cos))
        };
        let cotangents = outputs.iter().enumerate().map(cotangent).collect();
        (outputs, pullback.call(&cotangents))
    }
}

/// The numbers `wave(0.37 e + 0.11 index + 0.2)` for the elements `e` of a tensor like `like`.
pub fn waves(like: &Tensor, index: usize, wave: fn(f64) -> f64) -> Tensor {
    tensor_like(like, |e| wave(0.37 * e + 0.11 * index as f64 + 0.2))
}

/// A direction for each leaf; all are different from each other and from the cotangents.
fn directions(leaves: &[Tensor]) -> Vec<Tensor> {
    let direction = |(index, leaf)| tensor_like(leaf, |e| (0.59 * e + 0.23 * index as f64 + 0.7).sin());
    leaves.iter().enumerate().map(direction).collect()
}

fn tensor_like(like: &Tensor, number: impl Fn(f64) -> f64) -> Tensor {
    let numbers: Vec<f64> = (0..like.elements()).map(|e| number(e as f64)).collect();
    Tensor::from_vec(numbers, like.shape()).cast(like.dtype())
}

/// The sum of products of all elements, and the sum of their absolute values, to which rounding errors are relative.
fn inner(a: &[Tensor], b: &[Tensor]) -> (f64, f64) {
    let numbers = |list: &[Tensor]| -> Vec<f64> { list.iter().flat_map(Tensor::to_f64_vec).collect() };
    let products: Vec<f64> = numbers(a).iter().zip(numbers(b)).map(|(x, y)| x * y).collect();
    (products.iter().sum(), products.iter().map(|product| product.abs()).sum())
}

#[test]
fn every_mode_accepts_a_right_call_and_finds_a_wrong_one() {
    use std::cell::Cell;
    let x = Tensor::from([0.5, 1.5]);
    let sine = |x: &Vec<Tensor>| vec![x[0].sin()];
    let right =
        Eager { outputs: vec![x.sin()], gradients: vec![x.cos() * waves(&x, 0, f64::cos)], leaves: vec![x.clone()] };
    let run = |f: &dyn Fn(&Vec<Tensor>) -> Vec<Tensor>, eager: &Eager| {
        let close = Tolerance::ROUNDING;
        let compiled = compiled(f, eager, &[0], close).is_some();
        let forward = forward(f, eager, &[0], close).is_some();
        [compiled, forward, batched(f, eager, &[0], close).is_some()]
    };
    assert_eq!(run(&sine, &right), [false, false, false]);

    let another_gradient = Eager { gradients: vec![x.cos()], outputs: right.outputs.clone(), leaves: vec![x] };
    assert_eq!(run(&sine, &another_gradient), [true, true, false]);

    // A batch is compared with calls of the same function, so this wrong function must vary.
    let calls = Cell::new(0.0);
    let changing = |x: &Vec<Tensor>| vec![x[0].sin() + calls.replace(calls.get() + 1e-9)];
    changing(&right.leaves);
    assert_eq!(run(&changing, &right), [true, true, true]);
}
