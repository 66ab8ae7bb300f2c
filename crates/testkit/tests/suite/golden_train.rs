//! Whole training runs, which match recorded ones step by step.
//!
//! `data/golden_train.json` holds five small models with weights and data in closed form, trained for twelve steps by PyTorch
//! in f64: the loss before every step, the norms of the first gradients, sums and norms of the final parameters. Each run
//! is repeated eagerly and compiled, and agrees to nine digits.

use serde_json::Value;
use wengert::prelude::*;

#[test]
fn a_perceptron_fits_numbers_by_momentum() {
    let x = data(&[16, 10]);
    let target = Tensor::from_vec(numbers(16, |i| (0.9 * i + 0.3).sin()), [16, 1]);
    Run::recorded("mlp_mse").repeat(|p| {
        let hidden = linear(&x, &p[0], &p[1]).relu();
        let hidden = linear(&hidden, &p[2], &p[3]).relu();
        (linear(&hidden, &p[4], &p[5]) - &target).square().mean()
    });
}

#[test]
fn a_perceptron_learns_classes_by_adam() {
    let (x, labels) = (data(&[16, 10]), classes(16, 7, 3, 5));
    Run::recorded("mlp_xent_adam").repeat(|p| {
        let hidden = linear(&x, &p[0], &p[1]).tanh();
        cross_entropy(&linear(&hidden, &p[2], &p[3]), &labels)
    });
}

#[test]
fn a_recurrent_network_learns_through_time() {
    let (x, labels) = (data(&[9, 4, 6]), classes(4, 7, 3, 3));
    Run::recorded("rnn_bptt").repeat(|p| {
        let step = |state: Tensor, t: usize| (linear(&x.slice(t), &p[0], &p[2]) + state.matmul(&p[1].t())).tanh();
        let state = (0..9).fold(Tensor::zeros([4, 8]), step);
        cross_entropy(&linear(&state, &p[3], &p[4]), &labels)
    });
}

#[test]
fn a_convolutional_network_learns_by_decoupled_decay() {
    let (x, labels) = (data(&[3, 2, 9, 9]), classes(3, 7, 3, 4));
    Run::recorded("cnn").repeat(|p| {
        let hidden = halve(&convolve(&x, &p[0], &p[1], 1).relu());
        let hidden = convolve(&hidden, &p[2], &p[3], 0).relu();
        cross_entropy(&linear(&hidden.reshape([3, 24]), &p[4], &p[5]), &labels)
    });
}

#[test]
fn a_block_of_attention_learns_the_next_token() {
    let (tokens, targets) = (classes(14, 7, 3, 11), classes(14, 5, 2, 11));
    let rows = tokens.reshape([14, 1]).broadcast_to([14, 12]);
    let causal = Tensor::from_vec((0..49).map(|i| i % 7 <= i / 7).collect::<Vec<bool>>(), [7, 7]);
    let heads = |x: &Tensor| x.reshape([2, 7, 3, 4]).permute(&[0, 2, 1, 3]);
    let mut run = Run::recorded("gpt_block");
    for gain in [2, 8, 14] {
        run.parameters[gain] = &run.parameters[gain] + 1.0;
    }
    run.repeat(|p| {
        let x = p[0].gather(0, &rows).reshape([2, 7, 12]) + &p[1];
        let mixed = linear(&layer_norm(&x, &p[2], &p[3]), &p[4], &p[5]);
        let part = |k: usize| heads(&mixed.slice((.., .., 12 * k..12 * (k + 1))));
        let scores = part(0).matmul(&part(1).permute(&[0, 1, 3, 2])) / 2.0;
        let attention = softmax(&causal.where_(&scores, f64::NEG_INFINITY)).matmul(&part(2));
        let x = x + linear(&attention.permute(&[0, 2, 1, 3]).reshape([2, 7, 12]), &p[6], &p[7]);
        let hidden = gelu(&linear(&layer_norm(&x, &p[8], &p[9]), &p[10], &p[11]));
        let x = x + linear(&hidden, &p[12], &p[13]);
        let logits = layer_norm(&x, &p[14], &p[15]).matmul(&p[16].t());
        cross_entropy(&logits.reshape([14, 11]), &targets)
    });
}

/// A recorded run, and its parameters before the first step.
struct Run {
    record: Value,
    parameters: Vec<Tensor>,
}

impl Run {
    fn recorded(name: &str) -> Run {
        let text = include_str!("../../data/golden_train.json");
        let all: Value = serde_json::from_str(text).expect("the record is JSON");
        let cases = all["cases"].as_array().expect("a list of runs");
        let record = cases.iter().find(|case| case["name"] == name).expect("the run is recorded").clone();
        let shapes: Vec<Vec<usize>> = serde_json::from_value(record["param_shapes"].clone()).expect("shapes");
        let parameters = shapes.iter().enumerate().map(|(j, shape)| parameter(j, shape)).collect();
        Run { record, parameters }
    }

    /// Trains eagerly and compiled, and compares every recorded value.
    fn repeat(&self, loss: impl Fn(&Vec<Tensor>) -> Tensor) {
        self.train("eager", value_and_grad(&loss));
        let compiled = compile(value_and_grad(&loss));
        self.train("compiled", |parameters: &Vec<Tensor>| compiled.call(parameters));
        assert_eq!(compiled.signatures(), 1);
    }

    fn train(&self, way: &str, value_and_gradient: impl Fn(&Vec<Tensor>) -> (Tensor, Vec<Tensor>)) {
        let mut optimizer = Optimizer::new(&self.record);
        let mut parameters = self.parameters.clone();
        for (step, recorded) in self.list("losses").into_iter().enumerate() {
            let (loss, gradients) = value_and_gradient(&parameters);
            agree(&format!("{way}, loss before step {step}"), loss.item(), recorded, recorded);
            if step == 0 {
                self.compare_norms(&format!("{way}, norm of the first gradient"), "first_grad_norms", &gradients);
            }
            parameters = optimizer.step(&parameters, &gradients);
        }
        self.compare_norms(&format!("{way}, norm of the final parameter"), "final_param_norms", &parameters);
        // The terms of a sum cancel, so its error is relative to their size. This matters for the biases of attention's keys: their
        // gradient is zero up to rounding, which Adam divides by its own size.
        let scales = self.list("final_param_norms");
        for (j, recorded) in self.list("final_param_sums").into_iter().enumerate() {
            let what = format!("{way}, sum of the final parameter {j}");
            agree(&what, parameters[j].sum().item(), recorded, recorded.abs().max(scales[j]));
        }
    }

    fn compare_norms(&self, what: &str, field: &str, tensors: &[Tensor]) {
        let recorded = self.list(field);
        assert_eq!(recorded.len(), tensors.len());
        for (j, (tensor, recorded)) in tensors.iter().zip(recorded).enumerate() {
            agree(&format!("{what} {j}"), tensor.square().sum().item().sqrt(), recorded, recorded);
        }
    }

    fn list(&self, field: &str) -> Vec<f64> {
        serde_json::from_value(self.record[field].clone()).expect("a list of numbers")
    }
}

/// Agrees to nine digits of `scale`.
fn agree(what: &str, found: f64, recorded: f64, scale: f64) {
    let error = (found - recorded).abs() / scale.abs();
    assert!(error <= 1e-9, "{what}: {found}, recorded {recorded}, relative error {error:.1e}");
}

/// The update rules of the record, with their state for every parameter.
struct Optimizer {
    rule: String,
    rate: f64,
    momentum: f64,
    decay: f64,
    steps: i32,
    first: Vec<Tensor>,
    second: Vec<Tensor>,
}

impl Optimizer {
    fn new(record: &Value) -> Optimizer {
        let hyper = |name: &str| record["hyper"][name].as_f64().unwrap_or(0.0);
        let rule = record["optimizer"].as_str().expect("the name of a rule").to_string();
        let (rate, momentum, decay) = (hyper("lr"), hyper("momentum"), hyper("weight_decay"));
        Optimizer { rule, rate, momentum, decay, steps: 0, first: Vec::new(), second: Vec::new() }
    }

    fn step(&mut self, parameters: &[Tensor], gradients: &[Tensor]) -> Vec<Tensor> {
        if self.steps == 0 {
            let zeros = || parameters.iter().map(|parameter| parameter.full_like(0.0)).collect();
            (self.first, self.second) = (zeros(), zeros());
        }
        self.steps += 1;
        let all = parameters.iter().zip(gradients).enumerate();
        all.map(|(j, (parameter, gradient))| self.updated(j, parameter, gradient)).collect()
    }

    fn updated(&mut self, j: usize, parameter: &Tensor, gradient: &Tensor) -> Tensor {
        let (first, second) = (&mut self.first[j], &mut self.second[j]);
        if self.rule == "sgd" {
            *first = &*first * self.momentum + gradient;
            return parameter - &*first * self.rate;
        }
        let (fast, slow, epsilon) = (0.9f64, 0.999f64, 1e-8);
        *first = &*first * fast + gradient * (1.0 - fast);
        *second = &*second * slow + gradient.square() * (1.0 - slow);
        let first = &*first / (1.0 - fast.powi(self.steps));
        let second = &*second / (1.0 - slow.powi(self.steps));
        let kept = match self.rule.as_str() {
            "adam" => parameter.clone(),
            "adamw" => parameter * (1.0 - self.rate * self.decay),
            other => panic!("there is no rule {other}"),
        };
        kept - first / (second.sqrt() + epsilon) * self.rate
    }
}

// Weights and data in closed form.

fn numbers(count: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..count).map(|i| f(i as f64)).collect()
}

fn parameter(j: usize, shape: &[usize]) -> Tensor {
    let scale = if shape.len() > 1 { 1.0 / (shape[1..].iter().product::<usize>() as f64).sqrt() } else { 0.1 };
    let weights = numbers(shape.iter().product(), |i| scale * (0.7 * i + 1.3 * j as f64 + 0.5).cos());
    Tensor::from_vec(weights, shape)
}

fn data(shape: &[usize]) -> Tensor {
    Tensor::from_vec(numbers(shape.iter().product(), |i| (0.5 * i + 0.1).sin()), shape)
}

/// The labels `(factor i + offset) mod classes`.
fn classes(count: i64, factor: i64, offset: i64, classes: i64) -> Tensor {
    Tensor::from((0..count).map(|i| (factor * i + offset) % classes).collect::<Vec<i64>>())
}

// The layers of the models, written out.

fn linear(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
    x.matmul(&weight.t()) + bias
}

/// Sums over the last axis, which is kept.
fn row_sums(x: &Tensor) -> Tensor {
    x.sum_over(-1).unsqueeze(x.rank() - 1)
}

/// The rows minus their maxima, through which no gradient needs to pass.
fn centered(x: &Tensor) -> Tensor {
    x - x.detach().max_along(-1).0.unsqueeze(x.rank() - 1)
}

fn softmax(x: &Tensor) -> Tensor {
    let powers = centered(x).exp();
    let sums = row_sums(&powers);
    powers / sums
}

/// The mean over rows of -log softmax at the label.
fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Tensor {
    let centered = centered(logits);
    let chosen = centered.gather(1, &labels.unsqueeze(1));
    (row_sums(&centered.exp()).log() - chosen).mean()
}

fn layer_norm(x: &Tensor, gain: &Tensor, bias: &Tensor) -> Tensor {
    let width = x.shape()[x.rank() - 1] as f64;
    let centered = x - row_sums(x) / width;
    let variance = row_sums(&centered.square()) / width;
    centered / (variance + 1e-5).sqrt() * gain + bias
}

fn gelu(x: &Tensor) -> Tensor {
    let inner = (x + x * x * x * 0.044715) * (2.0 / std::f64::consts::PI).sqrt();
    x * 0.5 * (inner.tanh() + 1.0)
}

/// A convolution with stride 1, as the sum over the positions of the kernel.
fn convolve(x: &Tensor, kernel: &Tensor, bias: &Tensor, padding: usize) -> Tensor {
    let ([n, c, h, w], [_, _, kh, kw]) = (sizes(x), sizes(kernel));
    let mut padded = Tensor::zeros([n, c, h + 2 * padding, w + 2 * padding]);
    padded.set((.., .., padding..padding + h, padding..padding + w), x);
    let (h, w) = (h + 2 * padding + 1 - kh, w + 2 * padding + 1 - kw);
    let place = |k: usize| {
        let (row, column) = (k / kw, k % kw);
        let window = padded.slice((.., .., row..row + h, column..column + w)).permute(&[0, 2, 3, 1]);
        window.matmul(&kernel.slice((.., .., row, column)).t())
    };
    let sum = (1..kh * kw).fold(place(0), |sum, k| sum + place(k));
    (sum + bias).permute(&[0, 3, 1, 2])
}

/// The maximum of every 2 x 2 block; a last odd row or column is dropped.
fn halve(x: &Tensor) -> Tensor {
    let [n, c, h, w] = sizes(x);
    let (h, w) = (h / 2, w / 2);
    let pairs = x.slice((.., .., ..2 * h, ..2 * w)).reshape([n, c, h, 2, w, 2]);
    pairs.permute(&[0, 1, 2, 4, 3, 5]).reshape([n, c, h, w, 4]).max_along(-1).0
}

fn sizes(x: &Tensor) -> [usize; 4] {
    x.shape().try_into().expect("four axes")
}
