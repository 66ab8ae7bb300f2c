//! A network solves Burgers' equation `u_t + u u_x = v u_xx`, without data inside the domain. The loss contains derivatives
//! of the network by its inputs: `jvp` in time, and `jet` to second order in space. Reverse mode goes through both.

use crate::{Length, Outcome};
use wengert::nn::optimise::Lbfgs;
use wengert::nn::{Context, Layer, Linear, Tanh};
use wengert::prelude::*;
use wengert_view::Plot;

const WIDTH: usize = 20;
const VISCOSITY: f64 = 0.05;
/// Speed of the shock.
const SPEED: f64 = 0.5;

type Network = (Linear, Tanh, Linear, Tanh, Linear);

/// u at points `[count, 2]` of columns t and x.
fn value(network: &Network, points: &Tensor) -> Tensor {
    network.forward(points, &mut Context::evaluation())
}

/// A shock that moves to the right: u = c - tanh((x + 1/2 - c t) / 2v) for speed c.
fn exact(points: &Tensor) -> Tensor {
    let (t, x) = (points.slice((.., 0..1)), points.slice((.., 1..2)));
    SPEED - ((x + 0.5 - t * SPEED) / (2.0 * VISCOSITY)).tanh()
}

/// u_t + u u_x - v u_xx. Each row of the output depends on its own row of points, so one direction serves all of them.
fn residual(network: &Network, points: &Tensor) -> Tensor {
    let along = |direction: [f64; 2]| Tensor::from(direction).broadcast_to(points.shape());
    let u = |points: &Tensor| value(network, points);
    let (_, u_t) = jvp(u, points, &along([1.0, 0.0]));
    let in_space = jet(u, points, &[along([0.0, 1.0])], 2);
    u_t + &in_space[0] * &in_space[1] - &in_space[2] * VISCOSITY
}

/// Points at time `t`, from x = -1 to 1.
fn row(t: f64, count: usize) -> Tensor {
    let x = Tensor::linspace(-1.0, 1.0, count);
    Tensor::stack(&[&x.full_like(t), &x], 1)
}

/// Minimises the residual inside and the error at t = 0 and x = ±1.
pub fn run(length: Length) -> Outcome {
    let (inside, count) = (length.of(600, 100), length.of(50, 20));
    let key = &mut Key::new(0);
    let points = key.next().uniform([inside, 2], DType::F64) * Tensor::from([1.0, 2.0]) - Tensor::from([0.0, 1.0]);
    let t = Tensor::linspace(0.0, 1.0, count);
    let sides = [-1.0, 1.0].map(|x| Tensor::stack(&[&t, &t.full_like(x)], 1));
    let edge = Tensor::concat(&[&row(0.0, count), &sides[0], &sides[1]], 0);
    let known = exact(&edge);

    let loss = compile(value_and_grad(|network: &Network| {
        residual(network, &points).square().mean() + (value(network, &edge) - &known).square().mean() * 10.0
    }));
    let mut layer = |inputs, outputs| Linear::new(inputs, outputs, key);
    let mut network: Network = (layer(2, WIDTH), Tanh, layer(WIDTH, WIDTH), Tanh, layer(WIDTH, 1));
    let result = Lbfgs::new().history(30).iterations(length.of(2000, 60)).minimise(&mut network, |n| loss.call(n));

    let solution = |points: &Tensor| value(&network, points);
    let curve = |u: &dyn Fn(&Tensor) -> Tensor, t: f64| -> Vec<(f64, f64)> {
        let points = row(t, 101);
        points.select(1, 1).to_f64_vec().into_iter().zip(u(&points).to_f64_vec()).collect()
    };
    let rows: Vec<Tensor> = (0..=10).map(|k| row(k as f64 / 10.0, 101)).collect();
    let grid = Tensor::concat(&rows, 0);
    Outcome {
        plot: Plot::new("A shock of Burgers' equation")
            .line("initial condition", &curve(&exact, 0.0))
            .line("network, t = 0.5", &curve(&solution, 0.5))
            .line("network, t = 1", &curve(&solution, 1.0))
            .line("exact, t = 1", &curve(&exact, 1.0))
            .x_label("x")
            .y_label("u"),
        text: format!("{} iterations, loss {:.1e}\n", result.iterations, result.value),
        figure: (solution(&grid) - exact(&grid)).abs().max().item(),
    }
}
