//! llsq - least squares of a polynomial against a step: 1/2 sum_i (s_i - sum_j x_j t_i^j)^2, with n times t_i from -1 to 1 and their
//! signs s_i.

use super::{Module, Workload};
use crate::gradients::{gradient_of_sum, parts};
use crate::run::{Input, ensure, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use std::ops::Range;
use wengert::scalar::Real;

pub static MODULE: Module = Module {
    name: "llsq",
    functions: &[("primal", |input| repeated(input, primal)), ("gradient", |input| repeated(input, gradient))],
    primal: Some("primal"),
    workloads,
};

#[derive(Deserialize)]
struct Problem {
    x: Vec<f64>,
    n: usize,
}

impl Input for Problem {
    type Fields = Problem;

    fn check(problem: Problem) -> Result<Problem, String> {
        ensure_some("the length of x", problem.x.len())?;
        ensure(problem.n >= 2, "n must be at least 2")?;
        Ok(problem)
    }
}

/// The sum over some of `n` times.
fn objective<T: Real>(x: &[T], n: usize, times: Range<usize>) -> T {
    let mut sum = T::lit(0.0);
    for i in times {
        let t = -1.0 + 2.0 * i as f64 / (n - 1) as f64;
        let mut residual = T::lit(Real::signum(t));
        let mut power = 1.0;
        for x in x {
            residual = x.mul_add(T::lit(-power), residual);
            power *= t;
        }
        sum += residual * residual;
    }
    sum * T::lit(0.5)
}

fn primal(problem: &Problem) -> f64 {
    objective(&problem.x, problem.n, 0..problem.n)
}

fn gradient(problem: &Problem) -> Vec<f64> {
    let (x, n) = (&problem.x, problem.n);
    gradient_of_sum(x, parts(n, x.len(), x.len()), |x, times| objective(x, n, times))
}

fn workloads() -> Vec<Workload> {
    let m = 128;
    let one = |n| Workload::new(format!("n={n},m={m}"), move |random| json!({"x": random.uniform(m), "n": n}));
    [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8196, 16392].map(one).into()
}
