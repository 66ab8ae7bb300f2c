//! Loops that normalisations run themselves, and loops that look like them.

use super::emulator::Emulator;
use std::sync::Arc;
use wengert::prelude::*;

const NEAR: f64 = 2e-2;

fn wave(shape: &[usize], by: f64) -> Tensor {
    let numbers: Vec<f32> = (0..shape.iter().product::<usize>()).map(|i| (by * i as f64 + 0.3).sin() as f32).collect();
    Tensor::from(numbers).reshape(shape)
}

/// A function of x, r and a square weight gives the results of the processor.
fn compare(name: &str, f: impl Fn(&Tensor, &Tensor, &Tensor) -> Vec<Tensor>, rows: usize) {
    // Large enough that no block does it alone.
    let (x, r, w) = (wave(&[rows, 64], 0.7), wave(&[rows, 64], 0.9), wave(&[64, 64], 0.2));
    let all = |(x, r, w): &(Tensor, Tensor, Tensor)| f(x, r, w);
    let given = (x, r, w);
    let found = compile(all).on(Arc::new(Emulator("absorbed"))).precision(Precision::Bf16).call(&given);
    let right = compile(all).precision(Precision::Bf16).call(&given);
    assert_eq!(found.len(), right.len());
    for (number, (found, right)) in found.iter().zip(&right).enumerate() {
        let difference = (found - right).abs().max().item();
        assert!(difference <= NEAR * (1.0 + right.abs().max().item()), "{name}, result {number}: {difference}");
    }
}

fn normalised(x: &Tensor) -> Tensor {
    x.layer_norm(&[64], &Norm::new())
}

#[test]
fn residuals_before_and_behind_normalisations() {
    let f = |x: &Tensor, r: &Tensor, w: &Tensor| {
        let loss = |x: &Tensor| {
            let y = x + r;
            (normalised(&y).linear(w) + y).square().sum()
        };
        let (value, slope) = value_and_grad(loss)(x);
        vec![value, slope]
    };
    compare("residuals", f, 160);
}

#[test]
fn a_result_of_the_program_is_written_although_only_its_rounding_is_read() {
    // The gradient needs statistics, which keep their memory.
    let f = |x: &Tensor, _: &Tensor, w: &Tensor| {
        let slope = grad(|x: &Tensor| normalised(x).linear(w).square().sum())(x);
        vec![slope, normalised(x)]
    };
    compare("a result", f, 160);
}

#[test]
fn parts_of_rows_are_no_whole_operands() {
    let rounded = |x: &Tensor, _: &Tensor, w: &Tensor| {
        vec![grad(|x: &Tensor| normalised(x).narrow(0, 0, 80).linear(w).square().sum())(x)]
    };
    compare("a part of a result", rounded, 160);
    let added = |x: &Tensor, r: &Tensor, w: &Tensor| {
        let loss = |x: &Tensor| {
            let sum = x + r;
            normalised(&sum.narrow(0, 0, 80)).linear(w).square().sum() + sum.linear(w).square().sum()
        };
        vec![grad(loss)(x)]
    };
    compare("a part of a sum", added, 160);
    let behind = |x: &Tensor, r: &Tensor, w: &Tensor| {
        let loss = |x: &Tensor| {
            let longer = Tensor::concat(&[x, r], 0);
            (normalised(&longer).linear(w)).square().sum() + (x * x).sum()
        };
        vec![grad(loss)(x)]
    };
    compare("a part of a gradient", behind, 80);
}

#[test]
fn a_batch_of_more_products_than_a_launch_has_blocks() {
    let (a, b) = (wave(&[40_000, 2, 3], 0.7), wave(&[40_000, 3, 2], 0.4));
    let f = |(a, b): &(Tensor, Tensor)| a.matmul(b);
    let found = compile(f).on(Arc::new(Emulator("batch"))).call(&(a.clone(), b.clone()));
    assert!((found - a.matmul(&b)).abs().max().item() < 1e-5);
}
