//! Long rows have separate code paths: slopes are collected at a cotangent and multiplied in one pass, and temporaries are overwritten.
//! Elementwise operations are independent for each element, so a long row must be bitwise equal to its short pieces.

use std::sync::{Arc, Mutex};
use wengert::autograd::{Backward, grad_with};
use wengert::prelude::*;

const LONG: usize = 100_000;
const SHORT: usize = 500;

fn wave(start: usize, length: usize, phase: f64, dtype: DType) -> Tensor {
    let numbers: Vec<f64> = (start..start + length).map(|i| (0.37 * i as f64 + phase).sin()).collect();
    Tensor::from_vec(numbers, [length]).cast(dtype)
}

fn expression(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    let gate = (x * w + b).tanh() * (-x * x).exp();
    let rest = (x * x).log1p() * b.sigmoid() - (w.sin() * 0.5).leaky_relu(0.1);
    (gate.square() + rest / (x.square() + 2.0)).sum()
}

/// The gradients of all three rows, one piece after another.
fn gradients(piece: usize, dtype: DType, run: &dyn Fn([Tensor; 3]) -> [Tensor; 3]) -> [Vec<f64>; 3] {
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    for start in (0..LONG).step_by(piece) {
        let rows = [0.1, 1.2, 2.3].map(|phase| wave(start, piece, phase, dtype).require_grad());
        for (found, gradient) in found.iter_mut().zip(run(rows)) {
            found.extend(gradient.to_f64_vec());
        }
    }
    found
}

fn agree(run: &dyn Fn([Tensor; 3]) -> [Tensor; 3]) {
    for dtype in [DType::F64, DType::F32] {
        let (long, short) = (gradients(LONG, dtype, run), gradients(SHORT, dtype, run));
        for (operand, (long, short)) in long.iter().zip(&short).enumerate() {
            let differs = long.iter().zip(short).position(|(a, b)| a.to_bits() != b.to_bits());
            assert_eq!(differs, None, "operand {operand} in {dtype}");
            assert!(long.iter().any(|x| *x != 0.0));
        }
    }
}

#[test]
fn a_long_row_has_the_gradients_of_its_pieces() {
    agree(&|rows| {
        let [x, w, b] = &rows;
        expression(x, w, b).backward();
        [x, w, b].map(|leaf| leaf.grad().unwrap())
    });
}

/// More products than may be pending: some are added along the way.
#[test]
fn a_leaf_that_is_used_many_times_has_the_gradients_of_its_pieces() {
    agree(&|rows| {
        let [x, w, b] = &rows;
        let term = |i: usize| (x * w).sin() * (b * (i as f64 + 0.5)).exp() + x * x * b;
        (0..12).map(term).sum::<Tensor>().sum().backward();
        [x, w, b].map(|leaf| leaf.grad().unwrap())
    });
}

#[test]
fn a_kept_graph_gives_the_same_again() {
    agree(&|rows| {
        let [x, w, b] = &rows;
        let y = expression(x, w, b);
        y.backward_with(Backward::new().retain_graph());
        let first = x.grad().unwrap();
        y.backward();
        assert_eq!(x.grad().unwrap(), &first + &first);
        [first, w.grad().unwrap() * 0.5, b.grad().unwrap() * 0.5]
    });
}

#[test]
fn hooks_and_intermediate_gradients_see_numbers() {
    agree(&|rows| {
        let [x, w, b] = &rows;
        let seen = Arc::new(Mutex::new(None));
        let inner = (x * w).sin();
        let keep = seen.clone();
        inner.register_hook(move |adjoint| {
            *keep.lock().unwrap() = Some(adjoint.clone());
            Some(adjoint * 2.0)
        });
        let outer = (&inner * b).exp();
        let y = (outer.tanh() * 3.0).sum();
        let found = grad_with(&[&y], &[&inner, x, b], Backward::new());
        let [Some(at_inner), Some(at_x), Some(at_b)] = &found[..] else { panic!("all three matter") };
        assert_eq!(at_inner, &(seen.lock().unwrap().take().unwrap() * 2.0));
        [at_inner.clone(), at_x.clone(), at_b.clone()]
    });
}

#[test]
fn a_temporary_is_written_over_and_a_tensor_that_is_seen_is_not() {
    let (x, w) = (wave(0, LONG, 0.1, DType::F64).require_grad(), wave(0, LONG, 0.7, DType::F64));
    let product = &x * &w;
    let kept = product.clone();
    let before = kept.to_f64_vec();
    let sum = product + &w;
    assert_eq!(kept.to_f64_vec(), before);
    let expected: Vec<f64> = before.iter().zip(w.to_f64_vec()).map(|(a, b)| a + b).collect();
    assert_eq!(sum.to_f64_vec(), expected);
    // The rule of the square root reads its output, so the division must not overwrite it.
    let y = (&x * &x + 1.0).sqrt() - &w;
    y.sum().backward();
    let slope = |x: f64| 1.0 / (2.0 * (x * x + 1.0).sqrt()) * 2.0 * x;
    let gradient = x.grad().unwrap().to_f64_vec();
    for (gradient, x) in gradient.iter().zip(x.to_f64_vec()) {
        assert!((gradient - slope(x)).abs() < 1e-15 * 8.0, "{gradient} at {x}");
    }
}
