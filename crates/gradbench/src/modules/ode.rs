//! ode - y_0' = x_0, y_i' = x_i y_(i-1) from y = 0 over two units of time, by classical Runge-Kutta steps.
//!
//! A component depends only on the one before it, and the first on a constant 1. So scalar code takes a step in one pass, and tensor code
//! works in blocks that stay in a cache: from the block before it, a block only needs the last component at the four stages of every step.

use super::{Module, Workload, by_product};
use crate::compiled::{Numbers, compiled};
use crate::run::{Input, ensure, ensure_some, prepared, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::methods::*;
use wengert::{Tensor, checkpoint, grad, scan};

pub static MODULE: Module = Module {
    name: "ode",
    functions: &[("primal", |input| repeated(input, primal)), ("gradient", |input| prepared(input, gradient))],
    primal: Some("primal"),
    workloads,
};

/// The most elements of all states that a derivative can keep: two gigabytes.
const STATES: usize = 1 << 28;

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
        let most = STATES / (problem.x.len() + 8);
        ensure(problem.s <= most, format!("s must be at most {most}"))?;
        Ok(problem)
    }
}

/// y at the end.
fn primal(problem: &Problem) -> Vec<f64> {
    let h = 2.0 / problem.s as f64;
    let mut y = vec![0.0; problem.x.len()];
    for _ in 0..problem.s {
        // The previous component, at the four stages.
        let (mut y0, mut y1, mut y2, mut y3) = (1.0, 1.0, 1.0, 1.0);
        for (y, x) in y.iter_mut().zip(&problem.x) {
            let (k1, k2, k3, k4) = (x * y0, x * y1, x * y2, x * y3);
            (y0, y1, y2, y3) = (*y, *y + k1 * (h / 2.0), *y + k2 * (h / 2.0), *y + k3 * h);
            *y += (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0);
        }
    }
    y
}

/// The most components of a block: two dozen rows of them fit into the cache of a core.
const WIDTH: usize = 8192;

/// y at the end, in blocks of at most `width` components. The backward pass recomputes the stages of a step, so it only needs one state per
/// step.
fn integrate(x: &Tensor, steps: usize, width: usize) -> Tensor {
    let count = x.shape()[0];
    let blocks = count.div_ceil(width);
    let width = count.div_ceil(blocks);
    let h = 2.0 / steps as f64;
    let step = move |(x, y, before): &(Tensor, Tensor, Tensor)| {
        let speeds =
            |stage: usize, y: &Tensor| x * Tensor::concat(&[before.narrow(0, stage, 1), y.narrow(0, 0, width - 1)], 0);
        let last = |y: &Tensor| y.narrow(0, width - 1, 1);
        let k1 = speeds(0, y);
        let first = y + &k1 * (h / 2.0);
        let k2 = speeds(1, &first);
        let second = y + &k2 * (h / 2.0);
        let k3 = speeds(2, &second);
        let third = y + &k3 * h;
        let k4 = speeds(3, &third);
        let next = y + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0);
        (next, Tensor::concat(&[last(y), last(&first), last(&second), last(&third)], 0))
    };
    let step = checkpoint(step);
    let block = |before: &Tensor, x: &Tensor| {
        let step = |y: &Tensor, before: &Tensor| step(&(x.clone(), y.clone(), before.clone()));
        let (y, last) = scan(step, &Tensor::zeros([width]), before);
        (last, y)
    };
    let x = Tensor::concat(&[x, &Tensor::zeros([blocks * width - count])], 0).reshape([blocks, width]);
    let (_, y) = scan(block, &Tensor::ones([steps, 4]), &x);
    y.flatten().narrow(0, 0, count)
}

/// The gradient of the last component.
fn gradient(problem: Problem) -> impl Fn() -> Numbers {
    let Problem { x, s } = problem;
    let count = x.len();
    let f = compiled(Tensor::from_vec(x, [count]), grad(move |x: &Tensor| integrate(x, s, WIDTH).select(0, -1)));
    move || Numbers(f())
}

fn workloads() -> Vec<Workload> {
    let one = |(n, s): (usize, usize)| {
        Workload::new(format!("n={n},s={s}"), move |random| json!({"x": random.uniform(n), "s": s}))
    };
    by_product([1000, 10_000, 100_000], [1, 10, 100]).into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn numbers(count: usize) -> Vec<f64> {
        Random::new(count as u64).uniform(count).iter().map(|x| 1.0 + x).collect()
    }

    #[test]
    fn numbers_and_tensors_agree() {
        for (n, s, width) in [(1, 1, 1), (2, 3, 1), (7, 2, 3), (40, 11, 9), (40, 3, WIDTH)] {
            let x = numbers(n);
            let found = integrate(&Tensor::from_vec(x.clone(), [n]), s, width);
            let expected = Tensor::from_vec(primal(&Problem { x, s }), [n]);
            assert!(found.all_close(&expected, 1e-14), "{n} components, {s} steps, blocks of {width}");
        }
    }

    #[test]
    fn slopes_do_not_depend_on_the_width_of_blocks() {
        let (n, s) = (9, 3);
        let x = Tensor::from_vec(numbers(n), [n]);
        let slopes = |width: usize| grad(move |x: &Tensor| integrate(x, s, width).select(0, -1))(&x);
        let whole = slopes(WIDTH);
        assert!(whole.to_vec::<f64>().iter().all(|slope| slope.abs() > 1e-3), "{whole}");
        for width in 1..n {
            assert!(slopes(width).all_close(&whole, 1e-14), "blocks of {width}");
        }
    }
}
