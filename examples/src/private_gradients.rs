//! Private training (DP-SGD): `vmap` of `grad` gives the gradient of every example by itself. Each is clipped to a norm, and noise hides
//! what one example adds to their sum.

use crate::{Length, Outcome};
use wengert::nn::data::{Loader, Tensors};
use wengert::nn::optimise::{Optimiser, Sgd};
use wengert::nn::{Context, Layer, Linear, Tanh, accuracy};
use wengert::prelude::*;
use wengert_cli::digits::{CLASSES, Digits, PIXELS};
use wengert_view::Plot;

type Model = (Linear, Tanh, Linear);

/// The largest norm of the gradient of one example.
const CLIP: f64 = 1.0;
const BATCH: usize = 128;

/// The gradient for one example, scaled down to norm `CLIP` if it is longer, and its norm after that.
fn clipped(model: &Model, (x, label): &(Tensor, Tensor)) -> (Model, Tensor) {
    let loss = |model: &Model| model.forward(x, &mut Context::evaluation()).cross_entropy(label, &CrossEntropy::new());
    let gradient = grad(loss)(model);
    let norm = gradient.leaves().iter().map(|leaf| leaf.square().sum()).reduce(|a, b| a + b).expect("leaves").sqrt();
    let factor = (CLIP / &norm).clamp_max(1.0);
    (gradient.map_leaves(|leaf| leaf * &factor), norm * factor)
}

/// Test accuracies before and after each epoch. The noise has deviation `noise * CLIP`.
fn train(noise: f64, epochs: usize) -> Vec<f64> {
    let (train, test) = Digits::load();
    let optimiser = Sgd::new(1.0).momentum(0.5);
    let step = compile_step(|(model, memory, key): &mut (Model, _, Key), batch: &(Tensor, Tensor)| {
        let (each, norms) = vmap(|example: &(Tensor, Tensor)| clipped(model, example))(batch);
        let private = each.map_leaves(|leaf| {
            let sum = leaf.sum_over(0);
            let hidden = &sum + key.next().normal(sum.shape(), sum.dtype()) * (noise * CLIP);
            hidden / BATCH as f64
        });
        optimiser.update(model, &private, memory);
        norms
    });
    let accuracy = compile(|model: &Model| {
        let logits = model.forward(&test.images, &mut Context::evaluation());
        accuracy(&logits, &test.labels)
    });

    let key = &mut Key::new(0);
    let model = default_dtype(DType::F32, || (Linear::new(PIXELS, 32, key), Tanh, Linear::new(32, CLASSES, key)));
    let memory = optimiser.start(&model);
    let mut state = (model, memory, key.next());
    let mut loader = Loader::new(Tensors::new((train.images, train.labels)), BATCH).shuffled(0).drop_last();
    let mut accuracies = vec![accuracy.call(&state.0).item()];
    for _ in 0..epochs {
        for batch in loader.epoch() {
            let norms = step.call(&mut state, &batch.unwrap_or_else(|error| error.raise()));
            assert!(norms.max().item() <= CLIP * (1.0 + 1e-5));
        }
        accuracies.push(accuracy.call(&state.0).item());
    }
    accuracies
}

/// Trains without noise, with noise and with much noise.
pub fn run(length: Length) -> Outcome {
    let epochs = length.of(40, 3);
    let [none, some, much] = [0.0, 1.0, 8.0].map(|noise| train(noise, epochs));
    Outcome {
        plot: Plot::new("Private training of a network that reads digits")
            .values("clipped gradients", &none)
            .values("noise as large as the clipping norm", &some)
            .values("noise eight times as large", &much)
            .x_label("epoch")
            .y_label("accuracy on unseen digits"),
        text: String::new(),
        figure: some[epochs],
    }
}
