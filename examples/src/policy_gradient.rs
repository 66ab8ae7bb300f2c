//! REINFORCE: a policy learns to balance a pole on a cart. No gradient passes through the game or through random actions; the gradient
//! of the expected return is that of the logarithms of probabilities, weighted by what followed: `E[sum of G_t grad log p(a_t | s_t)]`.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Adam, Memory, Optimiser};
use wengert::nn::{Context, Layer, Linear, Tanh};
use wengert::prelude::*;
use wengert_view::Plot;

/// From position, speed, angle and angular speed to the logit of pushing to the right.
type Policy = (Linear, Tanh, Linear);
type State = (Policy, Memory, Key);

/// Games between two updates. They are few, so the gradient is noisy.
const GAMES: usize = 4;
const TURNS: usize = 200;
/// Policies that learn side by side, each with its own games.
const POLICIES: usize = 8;

/// One fiftieth of a second of a cart of 1 kg with a pole of 1 m and 100 g, pushed by 10 N.
fn pushed(state: &Tensor, right: &Tensor) -> Tensor {
    let [x, speed, angle, spin] = [0, 1, 2, 3].map(|k| state.select(1, k));
    let force = right.where_(10.0, -10.0);
    let (sin, cos) = (angle.sin(), angle.cos());
    let push = (force + 0.05 * spin.square() * &sin) / 1.1;
    let swing = (9.8 * sin - &cos * &push) / (0.5 * (4.0 / 3.0 - cos.square() / 11.0));
    let pull = push - &swing * cos / 22.0;
    Tensor::stack(&[x + 0.02 * &speed, speed + 0.02 * pull, angle + 0.02 * &spin, spin + 0.02 * swing], 1)
}

/// States, actions, and 1 while the pole stands and the cart is on its track: `[turns, games, ..]`.
fn play(policy: &Policy, key: &mut Key) -> (Tensor, Tensor, Tensor) {
    let turn = |(state, stands): &(Tensor, Tensor), key: &Key| {
        let logits = policy.forward(state, &mut Context::evaluation()).select(1, 0);
        let right = key.bernoulli(logits.sigmoid(), [GAMES]);
        let next = pushed(state, &right);
        let is_on_track = next.select(1, 0).abs().lt(2.4).cast(DType::F64);
        let is_upright = next.select(1, 2).abs().lt(0.21).cast(DType::F64);
        ((next, stands * is_on_track * is_upright), (state.clone(), right, stands.clone()))
    };
    let start = (key.next().uniform([GAMES, 4], DType::F64) - 0.5) * 0.1;
    scan(turn, &(start, Tensor::ones([GAMES])), &key.split(TURNS)).1
}

/// One update of a policy, and the mean return of its games.
fn updated(optimiser: &Adam, has_baseline: bool, state: &State) -> (State, Tensor) {
    let (mut policy, mut memory, mut key) = state.clone();
    let (states, right, stands) = play(&policy, &mut key);
    // Every turn pays 1 while the pole stands, and an action is judged by what is paid from then on.
    let returns = stands.flip(&[0]).cumsum(0).flip(&[0]);
    // What the other games get that have come this far. It changes the variance of the gradient, and not the mean.
    let others = (stands.sum_over(keepdim(1)) - 1.0).clamp_min(1.0);
    let baseline = (returns.sum_over(keepdim(1)) - &returns) / others;
    let weight = (&returns - baseline * f64::from(has_baseline)) * stands;
    let loss = |policy: &Policy| {
        // The cross-entropy of an action is minus the logarithm of its probability.
        let (logits, action) =
            (policy.forward(&states, &mut Context::evaluation()).select(2, 0), right.cast(DType::F64));
        logits.binary_cross_entropy_with_logits(&action, Some(&weight), None, Reduction::Sum) / GAMES as f64
    };
    let gradient = grad(loss)(&policy);
    optimiser.update(&mut policy, &gradient, &mut memory);
    ((policy, memory, key), returns.slice(0).mean())
}

/// The mean return before each update.
fn train(has_baseline: bool, updates: usize) -> Vec<f64> {
    let optimiser = Adam::new(0.03);
    let start = |key: &Key| {
        let key = &mut key.clone();
        let policy = (Linear::new(4, 32, key), Tanh, Linear::new(32, 1, key));
        (policy.clone(), optimiser.start(&policy), key.next())
    };
    let mut states = vmap(start)(&Key::new(0).split(POLICIES));
    let step = compile_step(|states: &mut State, _: &()| {
        let (next, returns) = vmap(|state: &State| updated(&optimiser, has_baseline, state))(states);
        *states = next;
        returns.mean()
    });
    (0..updates).map(|_| step.call(&mut states, &()).item()).collect()
}

/// Trains with and without a baseline.
pub fn run(length: Length) -> Outcome {
    let updates = length.of(200, 15);
    let [with, without] = [true, false].map(|has_baseline| train(has_baseline, updates));
    let episodes = |returns: &[f64]| -> Vec<(f64, f64)> {
        returns.iter().enumerate().map(|(update, &value)| ((update * GAMES) as f64, value)).collect()
    };
    Outcome {
        plot: Plot::new("Policy gradients balance a pole")
            .line("with a baseline", &episodes(&with))
            .line("without", &episodes(&without))
            .x_label("games played by each policy")
            .y_label(format!("turns until the pole falls, mean of {POLICIES} policies")),
        text: String::new(),
        figure: with[updates - 5..].iter().sum::<f64>() / 5.0,
    }
}
