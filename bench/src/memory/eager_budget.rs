//! Eager code under memory budgets: a chain of 64 layers, and a loop whose length depends on the data.

use super::Options;
use crate::timing::medians;
use wengert::memory::{reset_peak, statistics, with_memory_budget};
use wengert::prelude::*;

/// Elements of an activation, and its bytes.
const ELEMENTS: usize = 1 << 16;
const BYTES: usize = 8 * ELEMENTS;

fn chain(x: &Tensor) -> Tensor {
    (0..64).fold(x.clone(), |y, _| y.sin() * 1.1).sum()
}

fn growth(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    while y.max().item() < 20.0 {
        y = &y * 1.05 + y.sin() * 0.1;
    }
    y.square().sum()
}

type Program = fn(&Tensor) -> Tensor;

pub fn run(options: &Options) {
    let x = Tensor::linspace(0.1, 0.9, ELEMENTS).require_grad();
    for (name, program) in [("chain64", chain as Program), ("data_dependent_loop", growth)] {
        let plain = || {
            program(&x).backward();
            x.take_grad().expect("the program reads it")
        };
        let expected = plain();
        for activations in [40, 30, 20] {
            let within = || {
                let budget = statistics().live_bytes + activations * BYTES;
                with_memory_budget(budget, plain)
            };
            reset_peak();
            let before = statistics().live_bytes;
            assert_eq!(within(), expected, "{name}");
            let (budget, peak) = (activations * BYTES, statistics().peak_bytes - before);
            let [free, tight] = medians([&mut || drop(plain()), &mut || drop(within())]);
            let ratio = tight / free;
            options.print(
                format!(r#"{{"bench":"eager_budget","program":"{name}","budget_bytes":{budget},"peak_bytes":{peak},"time_ratio":{ratio:.4}}}"#),
                format!("{name:>19} within {activations} activations: {:.1} at most, {ratio:.2} times the time", peak as f64 / BYTES as f64),
            );
        }
    }
}
