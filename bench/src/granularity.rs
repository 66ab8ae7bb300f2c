//! One training step of a small network, forward and gradient, at several granularities: from a statement for every sum and product of two
//! numbers to one program.

use crate::agreement::expect_agreement;
use crate::timing::{Repeated, nanoseconds, repeated};
use std::hint::black_box;
use wengert::memory;
use wengert::prelude::*;
use wengert::scalar::{Real, Replay, Symbol, Var, gradient, recording};

/// The sizes of the layers of the network, from its inputs to its output.
const WIDTHS: [usize; 4] = [16, 32, 32, 1];
const BATCH: usize = 8;

/// The step at one granularity.
struct Grain<'a> {
    name: &'static str,
    /// The number of statements, instructions, recorded operations, or kernels.
    nodes: usize,
    /// The bytes saved for the backward pass; unknown for a replay, whose memory belongs to its program.
    saved_bytes: Option<usize>,
    /// The loss, followed by the gradient.
    found: Vec<f64>,
    step: Repeated<'a>,
}

pub fn run(json: bool) {
    let network = Network::new();
    let grains = vec![
        network.statements("statements", plain_product),
        network.statements("wide statements", Var::dot),
        network.replay(),
        network.eager("elementwise tensors", elementwise_layer),
        network.eager("kernels", Tensor::linear_bias),
        network.program(),
    ];
    expect_agreement(grains.iter().map(|grain| (grain.name, grain.found.clone())));
    let (lines, steps): (Vec<_>, Vec<_>) =
        grains.into_iter().map(|grain| ((grain.name, grain.nodes, grain.saved_bytes), grain.step)).unzip();
    for ((grain, nodes, saved), ns) in lines.into_iter().zip(nanoseconds("granularity", steps)) {
        let bytes = |unknown: &str| saved.map_or(unknown.to_string(), |bytes| bytes.to_string());
        match json {
            true => println!(
                "{{\"bench\":\"granularity\",\"grain\":\"{grain}\",\"nodes\":{nodes},\"saved_bytes\":{},\"ns\":{ns:.0}}}",
                bytes("null")
            ),
            false => println!("{grain:<20} {nodes:>6} nodes, {:>8} bytes saved, {:>8.1} us", bytes("?"), ns / 1e3),
        }
    }
}

/// Weights and biases of every layer, one after the other, and a batch of data.
struct Network {
    parameters: Vec<f64>,
    inputs: Vec<f64>,
    targets: Vec<f64>,
}

/// The inputs and outputs of every layer.
fn layers() -> impl Iterator<Item = (usize, usize)> {
    WIDTHS.windows(2).map(|pair| (pair[0], pair[1]))
}

fn plain_product<T: Real>(weights: &[T], inputs: &[T]) -> T {
    weights.iter().zip(inputs).fold(T::lit(0.0), |sum, (w, x)| sum + *w * *x)
}

/// From rows, weights and biases to rows.
type Layer = fn(&Tensor, &Tensor, &Tensor) -> Tensor;

/// All products of rows and weights as one tensor, then its sums.
fn elementwise_layer(x: &Tensor, weights: &Tensor, biases: &Tensor) -> Tensor {
    (x.unsqueeze(1) * weights).sum_over(-1) + biases
}

impl Network {
    fn new() -> Network {
        let layer = |(inputs, outputs): (usize, usize)| {
            let scale = 1.0 / (inputs as f64).sqrt();
            (0..(inputs + 1) * outputs).map(move |i| scale * (0.7 * i as f64 + 1.3 * outputs as f64).cos())
        };
        let data = |count: usize, shift: f64| (0..count).map(|i| (0.5 * i as f64 + shift).sin()).collect();
        Network {
            parameters: layers().flat_map(layer).collect(),
            inputs: data(BATCH * WIDTHS[0], 0.1),
            targets: data(BATCH * WIDTHS[3], 1.1),
        }
    }

    /// The loss in scalar arithmetic.
    fn loss<T: Real>(&self, parameters: &[T], product: impl Fn(&[T], &[T]) -> T) -> T {
        let mut sum = T::lit(0.0);
        for (row, target) in self.inputs.chunks(WIDTHS[0]).zip(&self.targets) {
            let mut x: Vec<T> = row.iter().map(|x| T::lit(*x)).collect();
            let mut rest = parameters;
            for (inputs, outputs) in layers() {
                let (weights, others) = rest.split_at(inputs * outputs);
                let (biases, others) = others.split_at(outputs);
                rest = others;
                x = weights.chunks(inputs).zip(biases).map(|(weights, bias)| product(weights, &x) + *bias).collect();
                if !rest.is_empty() {
                    x.iter_mut().for_each(|x| *x = x.tanh());
                }
            }
            let error = x[0] - T::lit(*target);
            sum += error * error;
        }
        sum / T::lit(BATCH as f64)
    }

    /// Scalars on the tape.
    fn statements(&self, name: &'static str, product: fn(&[Var], &[Var]) -> Var) -> Grain<'_> {
        let (nodes, bytes) = recording(|tape| {
            let parameters: Vec<Var> = self.parameters.iter().map(|p| tape.input(*p)).collect();
            self.loss(&parameters, product);
            (tape.statements() - parameters.len(), tape.bytes())
        });
        let step = move |slopes: &mut [f64]| gradient(|p| self.loss(p, product), black_box(&self.parameters), slopes);
        self.scalar(name, nodes, Some(bytes), step)
    }

    /// Scalars, recorded once.
    fn replay(&self) -> Grain<'_> {
        let replay = Replay::record(|p: &[Symbol]| self.loss(p, plain_product), &self.parameters);
        let nodes = replay.instructions();
        let step = move |slopes: &mut [f64]| replay.value_and_grad(black_box(&self.parameters), slopes);
        self.scalar("replay", nodes, None, step)
    }

    /// A step that returns the loss and writes the gradient.
    fn scalar<'a>(
        &self,
        name: &'static str,
        nodes: usize,
        saved_bytes: Option<usize>,
        mut step: impl FnMut(&mut [f64]) -> f64 + 'a,
    ) -> Grain<'a> {
        let mut slopes = vec![0.0; self.parameters.len()];
        let mut found = vec![step(&mut slopes)];
        found.extend(&slopes);
        let step = move || {
            black_box(step(black_box(&mut slopes)));
        };
        Grain { name, nodes, saved_bytes, found, step: repeated(step) }
    }

    /// The loss in tensor arithmetic, as a function of alternating weights and biases.
    fn loss_by(&self, layer: Layer) -> impl Fn(&Vec<Tensor>) -> Tensor + use<> {
        let inputs = Tensor::from(self.inputs.clone()).reshape([BATCH, WIDTHS[0]]);
        let targets = Tensor::from(self.targets.clone()).reshape([BATCH, WIDTHS[3]]);
        move |parameters| {
            let last = layers().count() - 1;
            let x = parameters.chunks(2).enumerate().fold(inputs.clone(), |x, (number, pair)| {
                let x = layer(&x, &pair[0], &pair[1]);
                if number == last { x } else { x.tanh() }
            });
            x.mse_loss(&targets, Reduction::Mean)
        }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut rest = &self.parameters[..];
        let mut take = |shape: &[usize]| {
            let (some, others) = rest.split_at(shape.iter().product());
            rest = others;
            Tensor::from(some.to_vec()).reshape(shape)
        };
        layers().flat_map(|(inputs, outputs)| [take(&[outputs, inputs]), take(&[outputs])]).collect()
    }

    /// Tensor operations, recorded as they run.
    fn eager(&self, name: &'static str, layer: Layer) -> Grain<'static> {
        let parameters: Vec<Tensor> = self.tensors().into_iter().map(Tensor::require_grad).collect();
        let loss = self.loss_by(layer);
        let before = memory::statistics().live_bytes;
        let value = loss(&parameters);
        let saved_bytes = memory::statistics().live_bytes - before;
        let nodes = Tape::of(&value).rows().iter().filter(|row| row.operation != "leaf").count();
        value.backward();
        let gradients = parameters.iter().flat_map(|p| p.grad().expect("every parameter counts").to_f64_vec());
        let found = std::iter::once(value.item()).chain(gradients).collect();
        let step = move || {
            parameters.iter().for_each(Tensor::zero_grad);
            loss(black_box(&parameters)).backward();
        };
        Grain { name, nodes, saved_bytes: Some(saved_bytes), found, step: repeated(step) }
    }

    /// One program for the loss and the gradient.
    fn program(&self) -> Grain<'static> {
        let (parameters, step) = (self.tensors(), compile(value_and_grad(self.loss_by(Tensor::linear_bias))));
        let plan = step.plan(&parameters);
        let mut result = step.call(&parameters);
        let (value, gradients) = &result;
        let found = std::iter::once(value.item()).chain(gradients.iter().flat_map(Tensor::to_f64_vec)).collect();
        let (nodes, saved_bytes) = (plan.kernels(), Some(plan.workspace_bytes()));
        let step = move || step.call_into(black_box(&parameters), &mut result);
        Grain { name: "program", nodes, saved_bytes, found, step: repeated(step) }
    }
}
