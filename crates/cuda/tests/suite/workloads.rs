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
