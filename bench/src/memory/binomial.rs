//! How often the body of a loop runs under the binomial schedule, counted in the body.

use super::Options;
use crate::timing::seconds;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wengert::Schedule;
use wengert::memory::{reset_peak, statistics};
use wengert::prelude::*;

/// Steps and snapshots.
const LOOPS: [(usize, usize); 6] = [(10, 3), (56, 5), (100, 10), (1000, 10), (10_000, 50), (1_000_000, 50)];

pub fn run(options: &Options) {
    for (steps, snapshots) in LOOPS {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let body = move |_: usize, x: &Tensor| {
            counted.fetch_add(1, Ordering::Relaxed);
            x * 0.5 + 1.0
        };
        let schedule = Schedule::Binomial { snapshots };
        // A row of numbers takes memory of the pool; a single one would not.
        let x = Tensor::linspace(0.1, 0.9, 512);
        reset_peak();
        let before = statistics().peak_bytes;
        let time = seconds(|| drop(grad(|x: &Tensor| checkpoint_loop(steps, x, body.clone(), &schedule).sum())(&x)));
        let peak = statistics().peak_bytes - before;
        // One run per step is differentiated, and one gives the last state, which is there before the reverse pass begins.
        let advances = count.load(Ordering::Relaxed) - steps - 1;
        options.print(
            format!(r#"{{"bench":"binomial","steps":{steps},"snapshots":{snapshots},"advances":{advances},"peak_bytes":{peak},"seconds":{time:.4}}}"#),
            format!("binomial {steps:>8} steps, {snapshots:>3} snapshots: {advances:>8} advances, {peak:>8} bytes at most, {time:.3} s"),
        );
    }
}
