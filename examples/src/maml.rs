//! Model-agnostic meta-learning of sine curves: parameters from which a few gradient steps on ten points fit a new curve.
//! The outer gradient goes through the inner gradient steps, and `vmap` adapts to all tasks of a batch at once.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Adam, Memory, Optimiser};
use wengert::nn::{Context, Layer, Linear, Tanh};
use wengert::prelude::*;
use wengert_view::Plot;

const TASKS: usize = 20;
const POINTS: usize = 10;
const WIDTH: usize = 40;
/// The rate and the number of inner steps.
const RATE: f64 = 0.02;
const STEPS: usize = 2;

type Network = (Linear, Tanh, Linear, Tanh, Linear);
type Points = (Tensor, Tensor);

fn error(network: &Network, (x, y): &Points) -> Tensor {
    network.forward(x, &mut Context::evaluation()).mse_loss(y, Reduction::Mean)
}

/// w - rate * gradient, a few times.
fn adapt(network: &Network, points: &Points, steps: usize) -> Network {
    let step = |w: Network, _| {
        let gradient = grad(|w: &Network| error(w, points))(&w);
        w.zip_leaves(&gradient, |w, g| w - g * RATE).expect("a gradient has the structure of its parameters")
    };
    (0..steps).fold(network.clone(), step)
}

/// The error on new points after `steps` of adaptation, averaged over tasks.
fn adapted_error(network: &Network, tasks: &(Points, Points), steps: usize) -> Tensor {
    vmap(|(seen, unseen): &(Points, Points)| error(&adapt(network, seen, steps), unseen))(tasks).mean()
}

/// Points to adapt to and others, on sines of random amplitude and phase.
fn draw(tasks: usize, key: &mut Key) -> (Points, Points) {
    let mut uniform =
        |shape: [usize; 3], low: f64, high: f64| key.next().uniform(shape, DType::F32) * (high - low) + low;
    let (amplitude, phase) = (uniform([tasks, 1, 1], 1.0, 5.0), uniform([tasks, 1, 1], 0.0, std::f64::consts::PI));
    let [seen, unseen] = [(); 2].map(|()| {
        let x = uniform([tasks, POINTS, 1], -5.0, 5.0);
        let y = (&x + &phase).sin() * &amplitude;
        (x, y)
    });
    (seen, unseen)
}

/// Trains parameters whose error after `steps` of adaptation is small.
fn train(rounds: usize, steps: usize) -> Network {
    let optimiser = Adam::new(5e-3);
    let round = compile_step(|(network, memory, key): &mut (Network, Memory, Key), (): &()| {
        let tasks = draw(TASKS, key);
        let gradient = grad(|network: &Network| adapted_error(network, &tasks, steps))(network);
        optimiser.update(network, &gradient, memory);
    });
    let mut key = Key::new(0);
    let mut layer = |inputs, outputs| default_dtype(DType::F32, || Linear::new(inputs, outputs, &mut key));
    let network: Network = (layer(1, WIDTH), Tanh, layer(WIDTH, WIDTH), Tanh, layer(WIDTH, 1));
    let memory = optimiser.start(&network);
    let mut state = (network, memory, Key::new(1));
    (0..rounds).for_each(|_| round.call(&mut state, &()));
    state.0
}

/// Compares with a network that learned the same tasks without inner steps.
pub fn run(length: Length) -> Outcome {
    let rounds = length.of(4000, 80);
    let (meta, plain) = (train(rounds, STEPS), train(rounds, 0));
    let tasks = draw(200, &mut Key::new(2));
    let errors = [&meta, &plain].map(|network| [0, STEPS].map(|steps| adapted_error(network, &tasks, steps).item()));

    let x = Tensor::linspace(-5.0, 5.0, 101).f32().reshape([101, 1]);
    let sine = |x: &Tensor| (x + 1.0).sin() * 3.0;
    let seen = Tensor::linspace(-4.5, 4.5, POINTS).f32().reshape([POINTS, 1]);
    let points = (seen.clone(), sine(&seen));
    let curve = |y: &Tensor| -> Vec<(f64, f64)> { x.to_f64_vec().into_iter().zip(y.to_f64_vec()).collect() };
    let predict = |network: &Network| curve(&network.forward(&x, &mut Context::evaluation()));
    Outcome {
        plot: Plot::new(format!("{STEPS} gradient steps on {POINTS} points of a new sine"))
            .line("sine", &curve(&sine(&x)))
            .line("meta-learned, before", &predict(&meta))
            .line("meta-learned, after", &predict(&adapt(&meta, &points, STEPS)))
            .line("without meta-learning, after", &predict(&adapt(&plain, &points, STEPS)))
            .x_label("x")
            .y_label("y"),
        text: format!("error before and after: meta-learned {:.3?}, without {:.3?}\n", errors[0], errors[1]),
        figure: errors[0][1] / errors[1][1],
    }
}
