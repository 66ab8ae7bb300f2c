//! Calls with more operands, outputs and residuals than a word has bits.

use wengert::prelude::*;

const COUNT: usize = 200;

fn numbers() -> Vec<Tensor> {
    (0..COUNT).map(|i| Tensor::from(0.2 + 0.003 * i as f64)).collect()
}

fn close(a: &[Tensor], b: impl IntoIterator<Item = f64>) {
    let b: Vec<f64> = b.into_iter().collect();
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        assert!((a.item() - b).abs() <= 1e-12 * (1.0 + b.abs()), "leaf {i}: {} against {b}", a.item());
    }
}

fn total(y: &[Tensor]) -> Tensor {
    y.iter().skip(1).fold(y[0].clone(), |sum, y| sum + y)
}

/// Checks value, gradient, second order and batch of a function that is `f(x_i)` at every leaf, with derivatives `df` and `ddf`.
fn is_elementwise(
    call: impl Fn(&Vec<Tensor>) -> Vec<Tensor>,
    f: impl Fn(f64) -> f64,
    df: impl Fn(f64) -> f64,
    ddf: impl Fn(f64) -> f64,
) {
    let x = numbers();
    let values: Vec<f64> = x.iter().map(Tensor::item).collect();
    close(&call(&x), values.iter().map(|x| f(*x)));
    close(&grad(|x: &Vec<Tensor>| total(&call(x)))(&x), values.iter().map(|x| df(*x)));
    let ones: Vec<Tensor> = vec![Tensor::from(1.0); COUNT];
    close(&jvp(&call, &x, &ones).1, values.iter().map(|x| df(*x)));
    let slope = |x: &Vec<Tensor>| total(&grad(|x: &Vec<Tensor>| total(&call(x)))(x));
    close(&grad(slope)(&x), values.iter().map(|x| ddf(*x)));
    let batched: Vec<Tensor> = values.iter().map(|x| Tensor::from([*x, x + 0.1])).collect();
    for (i, y) in vmap(|x: &Vec<Tensor>| call(x))(&batched).iter().enumerate() {
        assert!(y.all_close(&Tensor::from([f(values[i]), f(values[i] + 0.1)]), 1e-12));
    }
    for (i, y) in vmap(grad(|x: &Vec<Tensor>| total(&call(x))))(&batched).iter().enumerate() {
        assert!(y.all_close(&Tensor::from([df(values[i]), df(values[i] + 0.1)]), 1e-12));
    }
    let leaves: Vec<Tensor> = x.iter().map(|x| x.clone().require_grad()).collect();
    total(&call(&leaves)).backward();
    close(&leaves.iter().map(|leaf| leaf.grad().unwrap()).collect::<Vec<_>>(), values.iter().map(|x| df(*x)));
}

#[test]
fn a_custom_rule_takes_two_hundred_leaves() {
    let cubes = custom_vjp(
        |x: &Vec<Tensor>| (x.iter().map(|x| x * x * x).collect::<Vec<Tensor>>(), x.clone()),
        |x: &Vec<Tensor>, g: &Vec<Tensor>| x.iter().zip(g).map(|(x, g)| g * x * x * 3.0).collect::<Vec<Tensor>>(),
    );
    is_elementwise(|x| cubes(x), |x| x * x * x, |x| 3.0 * x * x, |x| 6.0 * x);
}

#[test]
fn loops_and_branches_take_two_hundred_leaves() {
    let squares = |x: &Vec<Tensor>| -> Vec<Tensor> { x.iter().map(|x| x * x).collect() };
    let twice = |x: &Vec<Tensor>| fori(2, |_: &Tensor, c: &Vec<Tensor>| squares(c), x);
    is_elementwise(twice, |x| x.powi(4), |x| 4.0 * x.powi(3), |x| 12.0 * x * x);
    let chosen = |x: &Vec<Tensor>| cond(&x[0].gt(0.0), squares, |x: &Vec<Tensor>| x.clone(), x);
    is_elementwise(chosen, |x| x * x, |x| 2.0 * x, |_| 2.0);
}

#[test]
fn a_solver_takes_two_hundred_leaves() {
    let roots = |a: &Vec<Tensor>| {
        let residual = |a: &Vec<Tensor>, x: &Tensor| x * x - Tensor::stack(a, 0);
        let x = root(residual, a, &Tensor::ones([COUNT]));
        (0..COUNT).map(|i| x.select(0, i as isize)).collect::<Vec<Tensor>>()
    };
    let a = numbers();
    let slopes = grad(|a: &Vec<Tensor>| total(&roots(a)))(&a);
    for ((a, x), slope) in a.iter().zip(roots(&a)).zip(slopes) {
        let exact = a.item().sqrt();
        assert!((x.item() - exact).abs() < 1e-8 && (slope.item() - 0.5 / exact).abs() < 1e-8);
    }
}

#[test]
fn a_compiled_function_takes_two_hundred_leaves() {
    let sines = compile(|x: &Vec<Tensor>| x.iter().map(Tensor::sin).collect::<Vec<Tensor>>());
    is_elementwise(|x| sines.call(x), f64::sin, f64::cos, |x| -x.sin());
}
