//! llsq - least squares of a polynomial against a step: 1/2 sum_i (s_i - sum_j x_j t_i^j)^2, with n times t_i from -1 to 1 and their
//! signs s_i.

use super::{Module, Workload};
use crate::run::{Input, ensure, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use std::cell::RefCell;
use wengert::scalar::{Items, Real, Replay, Symbol};

pub static MODULE: Module = Module {
    name: "llsq",
    functions: &[("primal", |input| repeated(input, primal)), ("gradient", |input| repeated(input, gradient))],
    primal: Some("primal"),
    workloads,
};

#[derive(Deserialize)]
struct Fields {
    x: Vec<f64>,
    n: usize,
}

struct Problem {
    x: Vec<f64>,
    n: usize,
    term: RefCell<Replay<fn(&[Symbol]) -> Symbol>>,
}

impl Input for Problem {
    type Fields = Fields;

    fn check(Fields { x, n }: Fields) -> Result<Problem, String> {
        ensure_some("the length of x", x.len())?;
        ensure(n >= 2, "n must be at least 2")?;
        ensure(n <= MOST, format!("n must be at most {MOST}"))?;
        let recorded = Replay::record(term as fn(&[Symbol]) -> Symbol, &[&x[..], &[0.5, 1.0]].concat());
        Ok(Problem { x, n, term: RefCell::new(recorded) })
    }
}

/// The most times: more do not fit into memory.
const MOST: usize = 100_000_000;

/// The term of one time; the inputs are the coefficients, the time and its sign.
fn term<T: Real>(inputs: &[T]) -> T {
    let (x, time) = inputs.split_at(inputs.len() - 2);
    let (mut residual, mut power) = (time[1], T::lit(1.0));
    for x in x {
        residual -= *x * power;
        power *= time[0];
    }
    residual * residual * T::lit(0.5)
}

/// The times and their signs.
fn times(n: usize) -> Vec<f64> {
    let time = |i: usize| -1.0 + 2.0 * i as f64 / (n - 1) as f64;
    (0..n).flat_map(|i| [time(i), Real::signum(time(i))]).collect()
}

fn primal(problem: &Problem) -> f64 {
    problem.term.borrow_mut().sum_over(&problem.x, &Items::of(&times(problem.n), 2))
}

fn gradient(problem: &Problem) -> Vec<f64> {
    let mut slopes = vec![0.0; problem.x.len()];
    problem.term.borrow_mut().sum_over_and_grad(&problem.x, &Items::of(&times(problem.n), 2), &mut slopes);
    slopes
}

fn workloads() -> Vec<Workload> {
    let m = 128;
    let one = |n| Workload::new(format!("n={n},m={m}"), move |random| json!({"x": random.uniform(m), "n": n}));
    [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8196, 16392].map(one).into()
}
