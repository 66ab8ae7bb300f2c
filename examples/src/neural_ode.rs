//! A network is the right-hand side of a differential equation, and learns a damped pendulum from points of its paths.
//! The gradient goes through the solver: `odeint` differentiates the steps that it took.

use crate::{Length, Outcome};
use wengert::nn::optimise::{Adam, Memory, Optimiser, Rule, Schedule};
use wengert::nn::{Context, Layer, Linear, Tanh};
use wengert::prelude::*;
use wengert_view::Plot;

/// The time between two points.
const STEP: f64 = 0.25;
/// The number of points on a path, and of those that one training example predicts.
const POINTS: usize = 60;
const WINDOW: usize = 5;
const PATHS: usize = 16;
const BATCH: usize = 64;

type Field = (Linear, Tanh, Linear);

/// angle' = speed, speed' = -sin(angle) - 0.15 speed, for rows `[angle, speed]`.
fn pendulum(y: &Tensor) -> Tensor {
    let (angle, speed) = (y.select(-1, 0), y.select(-1, 1));
    Tensor::stack(&[&speed, &(-angle.sin() - &speed * 0.15)], -1)
}

fn times(count: usize) -> Vec<f64> {
    (0..count).map(|k| k as f64 * STEP).collect()
}

/// The solution `[time, .., 2]` of the learned equation.
fn solve(field: &Field, start: &Tensor, count: usize) -> Tensor {
    let slope = |_: &Tensor, y: &Tensor, field: &Field| field.forward(y, &mut Context::evaluation());
    odeint(slope, field, start, &times(count), Ode::new().rtol(1e-4).atol(1e-5))
}

/// The solution of the true equation.
fn solve_exactly(start: &Tensor, count: usize) -> Tensor {
    odeint(|_: &Tensor, y: &Tensor, _: &()| pendulum(y), &(), start, &times(count), Ode::new())
}

/// Trains on short windows of the paths, and follows a new path from its first point alone.
pub fn run(length: Length) -> Outcome {
    let steps = length.of(3000, 40);
    let mut key = Key::new(0);
    let starts = (key.next().uniform([PATHS, 2], DType::F64) - 0.5) * 4.0;
    let paths = solve_exactly(&starts, POINTS);
    // Every window of every path: `[windows, WINDOW, 2]`.
    let windows: Vec<Tensor> = (0..POINTS - WINDOW).map(|k| paths.slice(k..k + WINDOW).transpose(0, 1)).collect();
    let windows = Tensor::concat(&windows, 0);

    let optimiser = Adam::new(1e-2).schedule(Schedule::cosine(steps));
    let step = compile_step(|(field, memory, key): &mut (Field, Memory, Key), (): &()| {
        let chosen = key.next().randint(0, windows.size(0) as i64, [BATCH]);
        let points = windows.index_select(0, &chosen).transpose(0, 1);
        let loss = |field: &Field| (solve(field, &points.select(0, 0), WINDOW) - &points).square().mean();
        let gradient = grad(loss)(field);
        optimiser.update(field, &gradient, memory);
    });
    let field: Field = (Linear::new(2, 32, &mut key), Tanh, Linear::new(32, 2, &mut key));
    let memory = optimiser.start(&field);
    let mut state = (field, memory, key);
    (0..steps).for_each(|_| step.call(&mut state, &()));

    let start = Tensor::from([1.8, 0.0]);
    let (truth, learned) = (solve_exactly(&start, POINTS), solve(&state.0, &start, POINTS));
    let distances = (&truth - &learned).square().sum_over(1).sqrt();
    Outcome {
        plot: Plot::new("A damped pendulum, learned from points")
            .line("true path", &curve(&truth))
            .line("path of the network", &curve(&learned))
            .x_label("angle")
            .y_label("speed"),
        text: format!(
            "mean distance over {POINTS} points, after training on {WINDOW} at a time: {:.4}\n",
            distances.mean().item()
        ),
        figure: distances.max().item(),
    }
}

fn curve(path: &Tensor) -> Vec<(f64, f64)> {
    path.to_f64_vec().chunks(2).map(|point| (point[0], point[1])).collect()
}
