//! Whole training steps on emulated blocks and threads.

use super::emulator::Emulator;
use std::sync::Arc;
use wengert::backend::Cpu;
use wengert_bench::workloads::{Size, named};

/// Steps give the losses and gradient norms of the processor.
fn compare(name: &'static str) {
    let start = |backend| named(name, Size::Small).expect("it is listed").compiled(None, backend);
    let (mut ours, mut right) = (start(Arc::new(Emulator(name))), start(Arc::new(Cpu)));
    for step in 0..3 {
        let (found, expected) = (ours.measured_step(), right.measured_step());
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-4 * b.abs();
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
