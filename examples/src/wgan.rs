//! A Wasserstein GAN with gradient penalty learns a distribution with two peaks. The penalty contains the gradient of the
//! critic by its input, and training differentiates it: a gradient of a gradient.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Adam, Memory, Optimiser};
use wengert::nn::{Context, Layer, Linear, Silu};
use wengert::prelude::*;
use wengert::tree::update_together;
use wengert_view::Plot;

const BATCH: usize = 256;
/// How many numbers are compared.
const COUNT: usize = 8192;
const LATENT: usize = 4;
const PENALTY: f64 = 0.1;
/// Steps of the critic for each step of the generator.
const CRITIC_STEPS: usize = 5;

type Network = (Linear, Silu, Linear, Silu, Linear);
type Player = (Network, Memory);

fn network(inputs: usize, key: &mut Key) -> Network {
    (Linear::new(inputs, 32, key), Silu, Linear::new(32, 32, key), Silu, Linear::new(32, 1, key))
}

fn apply(network: &Network, x: &Tensor) -> Tensor {
    network.forward(x, &mut Context::evaluation())
}

/// A narrow peak at -1 with a third of the mass, and a wide one at 1.5.
fn data(count: usize, key: &mut Key) -> Tensor {
    let is_left = key.next().bernoulli(1.0 / 3.0, [count, 1]);
    let noise = key.next().normal([count, 1], DType::F32);
    is_left.where_(&noise * 0.2 - 1.0, &noise * 0.5 + 1.5)
}

/// The inputs of the generator.
fn noise(count: usize, key: &mut Key) -> Tensor {
    key.next().normal([count, LATENT], DType::F32)
}

/// mean f(fake) - mean f(real) + penalty * mean (|f'| - 1)^2, with f' at points between the two.
fn critic_loss(critic: &Network, real: &Tensor, fake: &Tensor, share: &Tensor) -> Tensor {
    let between = real * share + fake * (1.0 - share);
    let slope = grad(|x: &Tensor| apply(critic, x).sum())(&between);
    apply(critic, fake).mean() - apply(critic, real).mean() + (slope.abs() - 1.0).square().mean() * PENALTY
}

/// Trains, and compares the distribution of samples with that of the data.
pub fn run(length: Length) -> Outcome {
    let rounds = length.of(4000, 100);
    let weight = 20.0 / rounds as f64;
    let [generator_rule, critic_rule] = [2e-3, 5e-3].map(|rate| Adam::new(rate).betas(0.5, 0.9));
    let round = compile_step(|(generator, critic, average, key): &mut (Player, Player, Network, Key), (): &()| {
        for _ in 0..CRITIC_STEPS {
            let (real, fake) = (data(BATCH, key), apply(&generator.0, &noise(BATCH, key)));
            let share = key.next().uniform([BATCH, 1], DType::F32);
            let gradient = grad(|critic: &Network| critic_loss(critic, &real, &fake, &share))(&critic.0);
            critic_rule.update(&mut critic.0, &gradient, &mut critic.1);
        }
        let noise = noise(BATCH, key);
        let gradient = grad(|generator: &Network| -apply(&critic.0, &apply(generator, &noise)).mean())(&generator.0);
        generator_rule.update(&mut generator.0, &gradient, &mut generator.1);
        // The two players circle around the solution; the average of the generator lies nearer to it.
        update_together([average], [&generator.0], |[average], [now]| *average += (now - &*average) * weight)
            .expect("two networks of one structure");
    });
    let mut key = Key::new(0);
    let (generator, critic) = default_dtype(DType::F32, || (network(LATENT, &mut key), network(1, &mut key)));
    let memories = (generator_rule.start(&generator), critic_rule.start(&critic));
    let (real, other) = (data(COUNT, &mut Key::new(1)), data(COUNT, &mut Key::new(2)));
    let noise = noise(COUNT, &mut Key::new(3));
    let before = apply(&generator, &noise);
    let mut state = ((generator.clone(), memories.0), (critic, memories.1), generator, key);
    (0..rounds).for_each(|_| round.call(&mut state, &()));
    let samples = apply(&state.2, &noise);
    let [start, least] = [&before, &other].map(|numbers| distance(numbers, &real));
    Outcome {
        plot: Plot::new("A Wasserstein GAN of one dimension")
            .line("data", &density(&real))
            .line("samples", &density(&samples))
            .x_label("x")
            .y_label("density"),
        text: format!("distance before training {start:.3}, between two samples of the data {least:.3}\n"),
        figure: distance(&samples, &real),
    }
}

/// The Wasserstein distance in one dimension pairs the numbers in their order.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    (a.sort(0).0 - b.sort(0).0).abs().mean().item()
}

/// A histogram with bins of width 0.1 from -3 to 4.
fn density(x: &Tensor) -> Vec<(f64, f64)> {
    let bins = ((x.reshape([x.elements()]) + 3.0) * 10.0).clamp(0.0, 69.0).cast(DType::I64);
    let counts = bins.bincount(70).to_f64_vec();
    counts.iter().enumerate().map(|(k, count)| (k as f64 / 10.0 - 2.95, count * 10.0 / x.elements() as f64)).collect()
}
