//! A recurrent network reports the first number of a sequence at its end. The gradient through all steps teaches it to
//! remember the number. Truncated backpropagation stops the gradient every few steps, so it never reaches the first one.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Adam, Memory, Optimiser, Rule};
use wengert::nn::{Context, Gru, Layer, Linear, init};
use wengert::prelude::*;
use wengert_view::Plot;

const BATCH: usize = 32;
const HIDDEN: usize = 32;
/// The steps between two stops of the truncated gradient.
const PART: usize = 5;

#[derive(Clone, Tree)]
struct Model {
    memory: Gru,
    output: Linear,
}

impl Model {
    fn new(key: &mut Key) -> Model {
        let mut weight = |inputs: usize| init::uniform([3 * HIDDEN, inputs], (HIDDEN as f64).powf(-0.5), key);
        // The bias of the update gate lets states change slowly at first, so that the gradient does not vanish.
        let bias = Tensor::concat(&[0.0, 3.0, 0.0].map(|bias| Tensor::zeros([HIDDEN]) + bias), 0);
        let memory = Gru::of(weight(2), weight(HIDDEN), Some(bias), None);
        Model { memory, output: Linear::new(HIDDEN, 1, key) }
    }

    /// The prediction after the last step of `x`, which is `[time, batch, 2]`.
    fn predict(&self, x: &Tensor, is_truncated: bool) -> Tensor {
        let context = &mut Context::evaluation();
        let mut states = vec![Tensor::zeros_of([x.size(1), HIDDEN], x.dtype())];
        for part in x.split(PART, 0) {
            let start = if is_truncated { stop_gradient(&states) } else { states };
            states = self.memory.run(&part, Some(&start), context).1;
        }
        self.output.forward(&states[0], context)
    }
}

/// Sequences of random numbers with a mark at the first one, and that number.
fn draw(time: usize, batch: usize, key: &Key) -> (Tensor, Tensor) {
    let numbers = key.uniform([time, batch, 1], DType::F32) * 2.0 - 1.0;
    let mark = Tensor::arange(time as i64).equal(0i64).f32().reshape([time, 1, 1]);
    (Tensor::concat(&[&numbers, &mark.broadcast_to([time, batch, 1])], 2), numbers.select(0, 0))
}

fn error(model: &Model, (x, first): &(Tensor, Tensor), is_truncated: bool) -> Tensor {
    model.predict(x, is_truncated).mse_loss(first, Reduction::Mean)
}

/// The losses of training, and the error on new sequences.
fn train(time: usize, steps: usize, is_truncated: bool) -> (Vec<f64>, f64) {
    let optimiser = Adam::new(1e-2).clip_norm(1.0);
    let step = compile_step(|(model, memory, key): &mut (Model, Memory, Key), (): &()| {
        let batch = draw(time, BATCH, &key.next());
        let (loss, gradient) = value_and_grad(|model: &Model| error(model, &batch, is_truncated))(model);
        optimiser.update(model, &gradient, memory);
        loss
    });
    let model = default_dtype(DType::F32, || Model::new(&mut Key::new(0)));
    let memory = optimiser.start(&model);
    let mut state = (model, memory, Key::new(1));
    let losses = (0..steps).map(|_| step.call(&mut state, &()).item()).collect();
    (losses, error(&state.0, &draw(time, 256, &Key::new(2)), is_truncated).item())
}

/// Trains the same network in both ways.
pub fn run(length: Length) -> Outcome {
    let (time, steps) = (length.of(100, 20), length.of(600, 80));
    let (full, full_error) = train(time, steps, false);
    let (truncated, truncated_error) = train(time, steps, true);
    Outcome {
        plot: Plot::new(format!("Remembering a number for {time} steps"))
            .line(format!("gradient stopped every {PART} steps"), &averages(&truncated))
            .line("gradient through all steps", &averages(&full))
            .x_label("training step")
            .y_label("mean squared error"),
        text: format!(
            "error on new sequences: {full_error:.4}, truncated {truncated_error:.4}; variance of the number 0.3333\n"
        ),
        figure: full_error / truncated_error,
    }
}

/// Means over ten steps.
fn averages(losses: &[f64]) -> Vec<(f64, f64)> {
    let mean = |(k, part): (usize, &[f64])| (10.0 * k as f64, part.iter().sum::<f64>() / part.len() as f64);
    losses.chunks(10).enumerate().map(mean).collect()
}
