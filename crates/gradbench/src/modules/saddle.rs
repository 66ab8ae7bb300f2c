//! saddle - the point where |x|^2 - |y|^2 is smallest in x and largest in y: an inner search finds y for each x, and is itself
//! differentiated.

use super::{Module, Workload};
use crate::descent::minimize;
use crate::nested::{Forward, Function, Inner, Mode, Outer, Program, Reverse};
use crate::run::{Input, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::scalar::Real;

/// The first letter is the mode of the outer derivative, the second that of the inner one.
pub static MODULE: Module = Module {
    name: "saddle",
    functions: &[
        ("rr", |input| repeated(input, |problem| find(problem, Reverse, Reverse))),
        ("ff", |input| repeated(input, |problem| find(problem, Forward, Forward))),
        ("fr", |input| repeated(input, |problem| find(problem, Forward, Reverse))),
        ("rf", |input| repeated(input, |problem| find(problem, Reverse, Forward))),
    ],
    primal: None,
    workloads: || vec![Workload::new("w=0".into(), |_| json!({"start": [1.0, 1.0]}))],
};

#[derive(Deserialize)]
struct Problem {
    start: [f64; 2],
}

impl Input for Problem {
    type Fields = Problem;

    fn check(problem: Problem) -> Result<Problem, String> {
        Ok(problem)
    }
}

/// |y|^2 - |x|^2 as a function of y and x: the depth below zero.
struct Depth;

impl Function<4> for Depth {
    fn at<T: Real>(&self, [y1, y2, x1, x2]: [T; 4]) -> T {
        (y1 * y1 + y2 * y2) - (x1 * x1 + x2 * x2)
    }
}

/// The maximum over all y, as a function of x.
struct Ridge<I> {
    start: [f64; 2],
    depth: I,
}

impl<I: Inner<4>> Ridge<I> {
    /// The y of the maximum.
    fn highest<T: Outer>(&self, [x1, x2]: [T; 2]) -> [T; 2] {
        let depth = |[y1, y2]: [T; 2]| Depth.at([y1, y2, x1, x2]);
        let slopes = |[y1, y2]: [T; 2]| self.depth.gradient([y1, y2, x1, x2]);
        minimize(depth, slopes, self.start.map(T::lit))
    }
}

impl<I: Inner<4>> Program<2> for Ridge<I> {
    fn at<T: Outer>(&self, x: [T; 2]) -> T {
        let [y1, y2] = self.highest(x);
        -Depth.at([y1, y2, x[0], x[1]])
    }
}

fn find(problem: &Problem, outer: impl Mode, inner: impl Mode) -> [f64; 4] {
    let ridge = Ridge { start: problem.start, depth: inner.inner(Depth) };
    let x = minimize(|x| ridge.at(x), |x| outer.outer(&ridge, x), problem.start);
    let [y1, y2] = ridge.highest(x);
    [x[0], x[1], y1, y2]
}
