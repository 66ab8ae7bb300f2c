//! A deep residual network is trained within a memory budget. Reverse mode keeps every value that the backward pass needs.
//! With a budget, the compiled step recomputes some of them: it takes less memory and more kernels, and learns the same.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Memory, Optimiser, Sgd};
use wengert::nn::{Checkpointed, Context, Layer, LayerNorm, Linear, Relu, Residual, Sequential};
use wengert::prelude::*;
use wengert_cli::digits::{CLASSES, Digits, PIXELS};
use wengert_view::Plot;

const WIDTH: usize = 32;
const HIDDEN: usize = 64;

/// Residual blocks between two linear layers.
fn network(depth: usize, is_checkpointed: bool) -> Sequential {
    let key = &mut Key::new(0);
    let first = Sequential::new().then(Linear::new(PIXELS, WIDTH, key));
    let blocks = (0..depth).fold(first, |network, _| {
        let widen = Linear::new(WIDTH, HIDDEN, key);
        let block = Residual::new((LayerNorm::new(WIDTH), widen, Relu, Linear::new(HIDDEN, WIDTH, key)));
        if is_checkpointed { network.then(Checkpointed::new(block)) } else { network.then(block) }
    });
    blocks.then(Linear::new(WIDTH, CLASSES, key))
}

/// What training takes, and what it gives.
struct Training {
    bytes: usize,
    kernels: usize,
    losses: Vec<f64>,
}

/// Trains on the first digits. It is an error if a step does not fit into `budget` bytes.
fn train(network: Sequential, budget: usize, length: Length) -> Training {
    let (digits, _) = Digits::load();
    let count = length.of(1024, 256);
    let batch = (digits.images.slice(..count), digits.labels.slice(..count));
    let optimiser = Sgd::new(0.05).momentum(0.9);
    let step = compile_step(|(network, memory): &mut (Sequential, Memory), (x, label): &(Tensor, Tensor)| {
        let loss = |network: &Sequential| {
            network.forward(x, &mut Context::evaluation()).cross_entropy(label, &CrossEntropy::new())
        };
        let (loss, gradient) = value_and_grad(loss)(network);
        optimiser.update(network, &gradient, memory);
        loss
    })
    .within(budget);
    let memory = optimiser.start(&network);
    let mut state = (network, memory);
    let plan = step.plan(&state, &batch);
    let losses = (0..length.of(30, 5)).map(|_| step.call(&mut state, &batch).item()).collect();
    Training { bytes: plan.total_bytes(), kernels: plan.kernels(), losses }
}

/// Trains without a budget, within shares of the bytes that this takes, and with a checkpoint for every block.
pub fn run(length: Length) -> Outcome {
    default_dtype(DType::F32, || {
        let depth = length.of(24, 4);
        let with = |budget: usize| train(network(depth, false), budget, length);
        let (free, checkpointed) = (with(usize::MAX), train(network(depth, true), usize::MAX, length));
        let percent = (length.of(25, 60)..=100).step_by(length.of(15, 20));
        let budgets = percent.map(|percent| free.bytes * percent / 100);
        let runs: Vec<(usize, Training)> = budgets.map(|budget| (budget, with(budget))).collect();
        let differs = |run: &Training| run.losses.iter().zip(&free.losses).any(|(a, b)| (a - b).abs() > 1e-4);
        assert!(!runs.iter().any(|(_, run)| differs(run)) && !differs(&checkpointed), "a budget changes no loss");

        let last = |run: &Training| run.losses[run.losses.len() - 1];
        let row = |name: &str, run: &Training| {
            format!("{name:<21} {:7.3} MB {:5} kernels, loss {:.6}\n", run.bytes as f64 / 1e6, run.kernels, last(run))
        };
        let relative = |value: fn(&Training) -> usize| -> Vec<(f64, f64)> {
            runs.iter().map(|(budget, run)| (*budget as f64 / 1e6, value(run) as f64 / value(&free) as f64)).collect()
        };
        Outcome {
            plot: Plot::new(format!("A training step of {depth} residual blocks"))
                .line("kernels", &relative(|run| run.kernels))
                .line("bytes", &relative(|run| run.bytes))
                .x_label("budget in MB")
                .y_label("relative to no budget"),
            text: row("no budget", &free)
                + &row("smallest budget tried", &runs[0].1)
                + &row("checkpointed blocks", &checkpointed),
            figure: runs[0].1.bytes as f64 / free.bytes as f64,
        }
    })
}
