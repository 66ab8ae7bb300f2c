//! lse - the logarithm of a sum of exponentials: A + log sum_i exp(x_i - A), with A = max x.

use super::{Module, Workload};
use crate::compiled::{Numbers, compiled};
use crate::run::{Input, ensure_some, prepared};
use serde::Deserialize;
use serde_json::json;
use wengert::methods::*;
use wengert::{Tensor, grad, keepdim};

pub static MODULE: Module = Module {
    name: "lse",
    functions: &[("primal", |input| prepared(input, primal)), ("gradient", |input| prepared(input, gradient))],
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

impl Problem {
    fn tensor(self) -> Tensor {
        let count = self.x.len();
        Tensor::from_vec(self.x, [count])
    }
}

/// Log-sum-exp along an axis. A + log sum exp(x - A) is the same for every A, so the maximum is treated as a constant: its contributions to
/// the gradient cancel.
pub(super) fn log_sum_exp(x: &Tensor, axis: isize) -> Tensor {
    let most = x.max_over(keepdim(axis)).detach();
    (x - &most).exp().sum_over(axis).log() + most.squeeze_axes(&[axis])
}

fn primal(problem: Problem) -> impl Fn() -> Numbers {
    let f = compiled(problem.tensor(), |x: &Tensor| log_sum_exp(x, 0));
    move || Numbers(f())
}

fn gradient(problem: Problem) -> impl Fn() -> Numbers {
    let f = compiled(problem.tensor(), grad(|x: &Tensor| log_sum_exp(x, 0)));
    move || Numbers(f())
}

fn workloads() -> Vec<Workload> {
    let one = |n| Workload::new(format!("n={n}"), move |random| json!({"x": random.uniform(n)}));
    (0..10).map(|doublings| one(2500 << doublings)).collect()
}
