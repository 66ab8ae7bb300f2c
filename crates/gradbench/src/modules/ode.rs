//! ode - y_0' = x_0, y_i' = x_i y_(i-1) from y = 0 over two units of time, by classical Runge-Kutta steps.

use super::{Module, Workload, by_product};
use crate::gradients::gradient_at;
use crate::run::{Input, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::scalar::Real;

pub static MODULE: Module = Module {
    name: "ode",
    functions: &[("primal", |input| repeated(input, primal)), ("gradient", |input| repeated(input, gradient))],
    primal: Some("primal"),
    workloads,
};

#[derive(Deserialize)]
struct Problem {
    x: Vec<f64>,
    s: usize,
}

impl Input for Problem {
    type Fields = Problem;

    fn check(problem: Problem) -> Result<Problem, String> {
        ensure_some("the length of x", problem.x.len())?;
        ensure_some("s", problem.s)?;
        Ok(problem)
    }
}

/// The speeds at `y`.
fn speeds<T: Real>(x: &[T], y: &[T], speeds: &mut [T]) {
    speeds[0] = x[0];
    for i in 1..x.len() {
        speeds[i] = x[i] * y[i - 1];
    }
}

/// y + h k, into `next`.
fn go<T: Real>(y: &[T], h: f64, k: &[T], next: &mut [T]) {
    for i in 0..y.len() {
        next[i] = k[i].mul_add(T::lit(h), y[i]);
    }
}

/// y at the end.
fn integrate<T: Real>(x: &[T], steps: usize) -> Vec<T> {
    let h = 2.0 / steps as f64;
    let zeros = || vec![T::lit(0.0); x.len()];
    let (mut y, mut between) = (zeros(), zeros());
    let mut k = [zeros(), zeros(), zeros(), zeros()];
    for _ in 0..steps {
        speeds(x, &y, &mut k[0]);
        go(&y, h / 2.0, &k[0], &mut between);
        speeds(x, &between, &mut k[1]);
        go(&y, h / 2.0, &k[1], &mut between);
        speeds(x, &between, &mut k[2]);
        go(&y, h, &k[2], &mut between);
        speeds(x, &between, &mut k[3]);
        for i in 0..y.len() {
            let sum = (k[1][i] + k[2][i]).mul_add(T::lit(2.0), k[0][i] + k[3][i]);
            y[i] = sum.mul_add(T::lit(h / 6.0), y[i]);
        }
    }
    y
}

fn primal(problem: &Problem) -> Vec<f64> {
    integrate(&problem.x, problem.s)
}

/// Of the last component.
fn gradient(problem: &Problem) -> Vec<f64> {
    gradient_at(&problem.x, |x| integrate(x, problem.s)[x.len() - 1])
}

fn workloads() -> Vec<Workload> {
    let one = |(n, s): (usize, usize)| {
        Workload::new(format!("n={n},s={s}"), move |random| json!({"x": random.uniform(n), "s": s}))
    };
    by_product([1000, 10_000, 100_000], [1, 10, 100]).into_iter().map(one).collect()
}
