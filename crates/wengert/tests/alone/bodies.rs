//! Bodies of loops and branches that differ from call to call by a captured number are discarded.

use super::{ALLOCATOR, turn};
use wengert::prelude::*;

/// The calls before and during the measurement: more than the number of bodies remembered, and of programs that a compiled function keeps.
const CALLS: usize = 400;

#[track_caller]
fn expect_flat(name: &str, call: impl Fn(usize)) {
    (0..CALLS).for_each(&call);
    let before = ALLOCATOR.live();
    (CALLS..2 * CALLS).for_each(&call);
    let grown = ALLOCATOR.live().saturating_sub(before);
    assert!(grown < 100_000, "{name}: {grown} bytes more after {CALLS} calls");
}

fn number(i: usize) -> f64 {
    i as f64 * 1e-6
}

/// The last sum of a recurrence with a captured number.
fn recurrence(x: &Tensor, k: f64) -> Tensor {
    let step = |carry: &Tensor, e: &Tensor| {
        let v = (carry * k + e).tanh();
        (v.clone(), v)
    };
    scan(step, &Tensor::from(0.0), x).0
}

#[test]
fn bodies_that_differ_by_a_number_are_forgotten() {
    let _turn = turn();
    let x = Tensor::from([0.1, 0.2, 0.3]);
    expect_flat("grad(scan)", |i| {
        grad(|x: &Tensor| recurrence(x, number(i)))(&x);
    });
    expect_flat("hvp(scan)", |i| {
        hvp(|x: &Tensor| recurrence(x, number(i)), &x, &x);
    });
    expect_flat("vmap(grad(scan))", |i| {
        vmap(grad(|x: &Tensor| recurrence(x, number(i))))(&Tensor::stack(&[&x, &x], 0));
    });
    expect_flat("grad(cond)", |i| {
        let k = number(i);
        grad(|x: &Tensor| cond(&x.sum().gt(0.0), |x: &Tensor| (x * k).sin().sum(), |x: &Tensor| x.sum(), x))(&x);
    });
    expect_flat("grad(while_loop)", |i| {
        let k = number(i);
        let f = |x: &Tensor| while_loop(|y: &Tensor| y.sum().gt(0.01), |y: &Tensor| (y * (0.5 + k)).sin(), x).sum();
        grad(f)(&x);
    });
    expect_flat("grad(compile)", |i| {
        let k = number(i);
        let f = compile(move |x: &Tensor| (x * k).sin().sum());
        grad(|x: &Tensor| f.call(x))(&x);
    });
    expect_flat("backward of compile", |i| {
        let (k, leaf) = (number(i), x.clone().require_grad());
        compile(move |x: &Tensor| (x * k).sin().sum()).call(&leaf).backward();
    });
    let f = compile(|x: &Tensor| x.sin().sum());
    expect_flat("grad(compile) of many shapes", |i| {
        grad(|x: &Tensor| f.call(x))(&Tensor::zeros([i + 1]));
    });
}
