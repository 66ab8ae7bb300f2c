//! Whole training steps on emulated blocks and threads.

use super::emulator::Emulator;
use std::sync::Arc;
use wengert::backend::{Backend, Cpu};
use wengert::prelude::*;
use wengert_bench::workloads::{Size, named};

/// Steps give the losses and gradient norms of the processor.
fn compare(name: &'static str) {
    compare_at(name, Precision::Strict, 1e-4);
}

fn compare_at(name: &'static str, precision: Precision, tolerance: f64) {
    let start = |backend: Arc<dyn Backend>| {
        named(name, Size::Small).expect("it is listed").placed(None, backend, Device::Cpu, precision)
    };
    let (mut ours, mut right) = (start(Arc::new(Emulator(name))), start(Arc::new(Cpu)));
    for step in 0..3 {
        let (found, expected) = (ours.measured_step(), right.measured_step());
        let near = |a: f64, b: f64| (a - b).abs() <= tolerance * b.abs();
        assert!(
            near(found.0, expected.0) && near(found.1, expected.1),
            "{name}, step {step}: {found:?}, not {expected:?}"
        );
    }
}

#[test]
fn tiny_mlp() {
    compare("tiny_mlp");
}

#[test]
fn mlp() {
    compare("mlp");
}

#[test]
fn rnn() {
    compare("rnn");
}

#[test]
fn cnn() {
    compare("cnn");
}

#[test]
fn gpt() {
    compare("gpt");
}

#[test]
fn elementwise() {
    compare("elementwise");
}

#[test]
fn products_of_16_bits() {
    for name in ["mlp", "rnn", "gpt"] {
        compare_at(name, Precision::Bf16, 2e-2);
    }
}

#[test]
fn convolutions_of_tf32() {
    compare_at("cnn", Precision::Tf32, 5e-3);
}

#[test]
fn checkpointed_functions_give_the_same_bits() {
    let block = |(x, w): &(Tensor, Tensor)| x + x.layer_norm(&[32], &Norm::new()).linear(w).gelu_tanh().linear(&w.t());
    let plain = |(x, w): &(Tensor, Tensor)| (0..3).fold(x.clone(), |x, _| block(&(x, w.clone()))).square().mean();
    let again =
        |(x, w): &(Tensor, Tensor)| (0..3).fold(x.clone(), |x, _| checkpoint(block)(&(x, w.clone()))).square().mean();
    let wave = |shape: [usize; 2], by: f64| {
        let numbers = (0..shape[0] * shape[1]).map(|i| (by * i as f64).sin() as f32);
        Tensor::from(numbers.collect::<Vec<f32>>()).reshape(shape)
    };
    let given = (wave([160, 32], 0.7), wave([64, 32], 0.3) * 0.2);
    for precision in [Precision::Strict, Precision::Bf16] {
        let on = || Arc::new(Emulator("checkpoint"));
        let expected = compile(value_and_grad(plain)).on(on()).precision(precision).call(&given);
        let tight = compile(value_and_grad(again)).on(on()).precision(precision);
        assert_eq!(tight.call(&given), expected, "{precision:?}");
        let right = compile(value_and_grad(plain)).precision(precision).call(&given);
        assert!((expected.0.item() - right.0.item()).abs() <= 1e-2 * right.0.item().abs(), "{precision:?}");
    }
}

#[test]
fn steps_within_a_budget_give_the_same_bits() {
    for precision in [Precision::Strict, Precision::Bf16] {
        let start = |within: Option<usize>| {
            let workload = named("gpt", Size::Small).expect("it is listed");
            workload.placed(within, Arc::new(Emulator("budget")), Device::Cpu, precision)
        };
        let mut free = start(None);
        let expected: Vec<(f64, f64)> = (0..2).map(|_| free.measured_step()).collect();
        // The least that is possible, and more.
        let error = catch(|| start(Some(1)).measured_step()).unwrap_err();
        let ErrorKind::Budget { needed, .. } = *error.kind() else { panic!("{error}") };
        for share in [1.0, 1.1, 1.3] {
            let budget = (needed as f64 * share) as usize;
            let mut bounded = start(Some(budget));
            let found: Vec<(f64, f64)> = (0..2).map(|_| bounded.measured_step()).collect();
            assert_eq!(found, expected, "{precision:?} within {budget} bytes");
        }
    }
}
