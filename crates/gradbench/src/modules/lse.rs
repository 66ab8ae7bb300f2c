//! lse - the logarithm of a sum of exponentials: A + log sum_i exp(x_i - A), with A = max x.

use super::{Module, Workload};
use crate::gradients::gradient_at;
use crate::run::{Input, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::scalar::Real;

pub static MODULE: Module = Module {
    name: "lse",
    functions: &[("primal", |input| repeated(input, primal)), ("gradient", |input| repeated(input, gradient))],
    primal: Some("primal"),
    workloads,
};

#[derive(Deserialize)]
struct Problem {
    x: Vec<f64>,
}

impl Input for Problem {
    type Fields = Problem;

    fn check(problem: Problem) -> Result<Problem, String> {
        ensure_some("the length of x", problem.x.len())?;
        Ok(problem)
    }
}

/// Panics if there is no number.
pub(super) fn log_sum_exp<T: Real>(x: &[T]) -> T {
    let most = x[1..].iter().fold(x[0], |most, x| most.max(*x));
    let sum = x.iter().fold(T::lit(0.0), |sum, x| sum + (*x - most).exp());
    most + sum.ln()
}

fn primal(problem: &Problem) -> f64 {
    log_sum_exp(&problem.x)
}

fn gradient(problem: &Problem) -> Vec<f64> {
    gradient_at(&problem.x, log_sum_exp)
}

fn workloads() -> Vec<Workload> {
    let one = |n| Workload::new(format!("n={n}"), move |random| json!({"x": random.uniform(n)}));
    (0..10).map(|doublings| one(2500 << doublings)).collect()
}
