//! Whole training runs, which match recorded ones step by step.
//!
//! `data/golden_train.json` holds five small models with weights and data in closed form, trained for twelve steps by PyTorch
//! in f64: the loss before every step, the norms of the first gradients, sums and norms of the final parameters. Each run
//! is repeated with the layers and optimisers of `wengert::nn`, eagerly and compiled, and agrees to nine digits.

use serde_json::Value;
use wengert::nn::optimise::{Adam, AdamW, Optimiser, Rule, Sgd};
use wengert::nn::*;
use wengert::prelude::*;

#[test]
fn a_perceptron_fits_numbers_by_momentum() {
    let x = data(&[16, 10]);
    let target = Tensor::from_vec(numbers(16, |i| (0.9 * i + 0.3).sin()), [16, 1]);
    let key = &mut Key::new(0);
    let model = sequential![Linear::new(10, 32, key), Relu, Linear::new(32, 32, key), Relu, Linear::new(32, 1, key)];
    Run::recorded("mlp_mse")
        .repeat(&model, None, |model, context| model.forward(&x, context).mse_loss(&target, Reduction::Mean));
}

#[test]
fn a_perceptron_learns_classes_by_adam() {
    let (x, labels) = (data(&[16, 10]), classes(16, 7, 3, 5));
    let run = Run::recorded("mlp_xent_adam");
    let hidden = run.shapes()[0][0];
    let key = &mut Key::new(0);
    let model = (Linear::new(10, hidden, key), Tanh, Linear::new(hidden, 5, key));
    run.repeat(&model, None, |model, context| cross_entropy(&model.forward(&x, context), &labels));
}

#[test]
fn a_recurrent_network_learns_through_time() {
    let (x, labels) = (data(&[9, 4, 6]), classes(4, 7, 3, 3));
    let key = &mut Key::new(0);
    let model = (Rnn::new(6, 8, key).with_one_bias(), Linear::new(8, 3, key));
    Run::recorded("rnn_bptt").repeat(&model, None, |(rnn, output), context| {
        let state = rnn.last(&x, context);
        cross_entropy(&output.forward(&state, context), &labels)
    });
}

#[test]
fn a_convolutional_network_learns_by_decoupled_decay() {
    let (x, labels) = (data(&[3, 2, 9, 9]), classes(3, 7, 3, 4));
    let run = Run::recorded("cnn");
    let (first, second) = (run.shapes()[0].clone(), run.shapes()[2].clone());
    let key = &mut Key::new(0);
    let model = sequential![
        Conv2d::new(first[1], first[0], first[2], key).padding(1),
        Relu,
        MaxPool2d::new(2),
        Conv2d::new(second[1], second[0], second[2], key),
        Relu,
        Flatten,
        Linear::new(24, 4, key),
    ];
    run.repeat(&model, None, |model, context| cross_entropy(&model.forward(&x, context), &labels));
}

/// A block of a transformer between tables and output.
#[derive(Clone, Tree)]
struct Writer {
    tokens: Embedding,
    positions: Tensor,
    block: TransformerBlock,
    norm: LayerNorm,
    output: Linear,
}

#[test]
fn a_block_of_attention_learns_the_next_token() {
    let (tokens, targets) = (classes(14, 7, 3, 11).reshape([2, 7]), classes(14, 5, 2, 11));
    let mut run = Run::recorded("gpt_block");
    for gain in [2, 8, 14] {
        run.parameters[gain] = &run.parameters[gain] + 1.0;
    }
    let hidden = run.shapes()[10][0];
    let key = &mut Key::new(0);
    let model = Writer {
        tokens: Embedding::new(11, 12, key),
        positions: Tensor::zeros([7, 12]),
        block: TransformerBlock::with_hidden(12, 3, hidden, key).causal(),
        norm: LayerNorm::new(12),
        output: Linear::new(12, 11, key).without_bias(),
    };
    let block = [
        "norm1.weight",
        "norm1.bias",
        "self_attn.in_proj_weight",
        "self_attn.in_proj_bias",
        "self_attn.out_proj.weight",
        "self_attn.out_proj.bias",
        "norm2.weight",
        "norm2.bias",
        "linear1.weight",
        "linear1.bias",
        "linear2.weight",
        "linear2.bias",
    ];
    let mut names = vec!["tokens.weight".to_string(), "positions".to_string()];
    names.extend(block.map(|name| format!("block.{name}")));
    names.extend(["norm.weight", "norm.bias", "output.weight"].map(String::from));
    run.repeat(&model, Some(names), |model, context| {
        let x = model.tokens.forward(&tokens, context) + &model.positions;
        let x = model.norm.forward(&model.block.forward(&x, context), context);
        cross_entropy(&model.output.forward(&x, context).reshape([14, 11]), &targets)
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
        let mut run = Run { record, parameters: Vec::new() };
        run.parameters = run.shapes().iter().enumerate().map(|(j, shape)| parameter(j, shape)).collect();
        run
    }

    fn shapes(&self) -> Vec<Vec<usize>> {
        serde_json::from_value(self.record["param_shapes"].clone()).expect("shapes")
    }

    /// Trains eagerly and compiled, and compares every recorded value. The parameters are recorded in the order of `names`, or of the
    /// leaves of the model.
    fn repeat<M: Tree + Clone>(
        &self,
        model: &M,
        names: Option<Vec<String>>,
        loss: impl Fn(&M, &mut Context<'_>) -> Tensor,
    ) {
        let hyper = |name: &str| self.record["hyper"][name].as_f64().unwrap_or(0.0);
        let (rate, momentum, decay) = (hyper("lr"), hyper("momentum"), hyper("weight_decay"));
        let leaves = || model.named_leaves().into_iter().map(|(name, _)| name).collect();
        let names = names.unwrap_or_else(leaves);
        match self.record["optimizer"].as_str().expect("the name of a rule") {
            "sgd" => self.train(model, &names, &Sgd::new(rate).momentum(momentum), loss),
            "adam" => self.train(model, &names, &Adam::new(rate), loss),
            "adamw" => self.train(model, &names, &AdamW::new(rate).weight_decay(decay), loss),
            other => panic!("there is no rule {other}"),
        }
    }

    fn train<M: Tree + Clone, R: Rule>(
        &self,
        model: &M,
        names: &[String],
        rule: &R,
        loss: impl Fn(&M, &mut Context<'_>) -> Tensor,
    ) {
        assert_eq!(names.len(), self.parameters.len());
        let recorded = |name: &str| names.iter().position(|own| own == name).expect("every leaf is recorded");
        let initial = model.map(&mut TreePath::root(), &mut |path, leaf| {
            let parameter = self.parameters[recorded(path.as_str())].clone();
            assert_eq!(parameter.shape(), leaf.shape(), "{path}");
            parameter
        });
        // Leaves in the order of the record.
        let ordered = |model: &M| -> Vec<Tensor> {
            let named = model.named_leaves();
            names.iter().map(|name| named.iter().find(|(own, _)| own == name).expect("a leaf").1.clone()).collect()
        };
        let step = |(model, memory): &mut (M, optimise::Memory), _: &()| {
            let loss = |model: &M| loss(model, &mut Context::evaluation().of(model));
            let (value, gradients) = value_and_grad(loss)(model);
            rule.update(model, &gradients, memory);
            (value, gradients)
        };
        let compiled = compile_step(step);
        for way in ["eager", "compiled"] {
            let mut state = (initial.clone(), rule.start(&initial));
            for (number, recorded) in self.list("losses").into_iter().enumerate() {
                let (value, gradients) =
                    if way == "eager" { step(&mut state, &()) } else { compiled.call(&mut state, &()) };
                agree(&format!("{way}, loss before step {number}"), value.item(), recorded, recorded);
                if number == 0 {
                    let what = format!("{way}, norm of the first gradient");
                    self.compare_norms(&what, "first_grad_norms", &ordered(&gradients));
                }
            }
            let parameters = ordered(&state.0);
            self.compare_norms(&format!("{way}, norm of the final parameter"), "final_param_norms", &parameters);
            // The terms of a sum cancel, so its error is relative to their size. This matters for the biases of attention's keys: their
            // gradient is zero up to rounding, which Adam divides by its own size.
            let scales = self.list("final_param_norms");
            for (j, recorded) in self.list("final_param_sums").into_iter().enumerate() {
                let what = format!("{way}, sum of the final parameter {j}");
                agree(&what, parameters[j].sum().item(), recorded, recorded.abs().max(scales[j]));
            }
        }
        assert_eq!(compiled.signatures(), 1);
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

fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Tensor {
    logits.cross_entropy(labels, &CrossEntropy::new())
}

/// Agrees to nine digits of `scale`.
fn agree(what: &str, found: f64, recorded: f64, scale: f64) {
    let error = (found - recorded).abs() / scale.abs();
    assert!(error <= 1e-9, "{what}: {found}, recorded {recorded}, relative error {error:.1e}");
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
