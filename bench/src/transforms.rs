//! The cost of transforms: ratios of times measured side by side.

use crate::timing::medians;
use crate::workloads::{self, Size};
use std::hint::black_box;
use wengert::prelude::*;

type Benchmark = (&'static str, fn(json: bool, most: usize));

const ALL: &[Benchmark] = &[
    ("grad_vs_n", grad_vs_n),
    ("hvp_over_grad", hvp_over_grad),
    ("jacobian_over_products", jacobian_over_products),
    ("jet16_over_jet8", jet16_over_jet8),
    ("tridiagonal_seeds", tridiagonal_seeds),
];

/// Runs every benchmark, or those in `names`, with gradients of at most `most` inputs.
pub fn run(names: &[String], json: bool, most: usize) {
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("wengert-bench: there is no benchmark '{unknown}'; there are {}", known.join(", "));
        std::process::exit(2);
    }
    for (name, benchmark) in ALL {
        if names.is_empty() || names.iter().any(|asked| asked == name) {
            benchmark(json, most);
        }
    }
}

/// Prints the figures of a benchmark, as text or as a JSON object.
pub fn report(json: bool, bench: &str, values: &[(&str, f64)]) {
    let exact = |value: f64| if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.3}") };
    let values: Vec<String> = match json {
        true => values.iter().map(|(name, value)| format!(r#","{name}":{}"#, exact(*value))).collect(),
        false => values.iter().map(|(name, value)| format!("  {name} {}", exact(*value))).collect(),
    };
    match json {
        true => println!(r#"{{"bench":"{bench}"{}}}"#, values.concat()),
        false => println!("{bench:24}{}", values.concat()),
    }
}

/// The number of forward-mode seeds that are timed; the whole gradient takes one for every input.
const SEEDS: usize = 32;

/// The cost of the reverse gradient relative to the function stays flat; forward mode takes n products, so it grows with n.
fn grad_vs_n(json: bool, most: usize) {
    for n in [1_000, 10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|n| *n <= most) {
        // Neighbours are coupled, and all elements with each other through the norm.
        let f = |x: &Tensor| {
            let y = x.sin() * x.square();
            (y.slice(1..) * y.slice(..-1).tanh()).exp().mean() * x.square().mean().sqrt()
        };
        let x = Tensor::linspace(0.1, 2.0, n);
        let seeds = SEEDS.min(10_000_000 / n).max(1);
        let unit = |k: usize| {
            let mut unit = Tensor::zeros([n]);
            unit.set(k * (n / seeds), 1.0);
            unit
        };
        let units: Vec<Tensor> = (0..seeds).map(unit).collect();
        let mut function = || drop(black_box(f(&x)));
        let mut reverse = || drop(black_box(value_and_grad(f)(&x)));
        let mut forward = || units.iter().for_each(|unit| drop(black_box(jvp(f, &x, unit))));
        let [function, reverse, forward] = medians([&mut function, &mut reverse, &mut forward]);
        let each = forward / seeds as f64 / function;
        let values = [
            ("n", n as f64),
            ("ratio", reverse / function),
            ("one_forward_product", each),
            ("full_forward_gradient", each * n as f64),
        ];
        report(json, "grad_vs_n", &values);
    }
}

/// A Hessian-vector product of the loss of `mlp`, by every order of modes, relative to its gradient.
fn hvp_over_grad(json: bool, _most: usize) {
    let training = workloads::named("mlp", Size::Full).expect("listed").start();
    let (loss, x) = training.function();
    let v: Vec<Tensor> = x.iter().map(Tensor::cos).collect();
    let ratios = medians([
        &mut || drop(black_box(grad(&loss)(&x))),
        &mut || drop(black_box(hvp(&loss, &x, &v))),
        &mut || drop(black_box(vhp(&loss, &x, &v))),
        &mut || drop(black_box(grad(|x: &Vec<Tensor>| jvp(&loss, x, &v).1)(&x))),
    ]);
    let over = |place: usize| ratios[place] / ratios[0];
    let values = [("ratio", over(1)), ("reverse_over_reverse", over(2)), ("reverse_over_forward", over(3))];
    report(json, "hvp_over_grad", &values);
}

/// The Jacobian of a perceptron 256 - 256 - 256 by batched seeds, relative to its two products alone.
fn jacobian_over_products(json: bool, _most: usize) {
    let weight = |key: u64| (Key::new(key).uniform([256, 256], DType::F32) - 0.5) / 8.0;
    let (first, second) = (weight(1), weight(2));
    let f = |x: &Tensor| x.linear(&first).tanh().linear(&second);
    let x = Key::new(3).uniform([256], DType::F32);
    let (seeds, turned) = (Tensor::eye_of(256, 256, DType::F32), first.t().contiguous());
    let mut products = || drop(black_box(seeds.matmul(&second).matmul(&turned)));
    let mut jacobian = || drop(black_box(jacrev(f)(&x)));
    let [products, jacobian] = medians([&mut products, &mut jacobian]);
    report(json, "jacobian_over_products", &[("ratio", jacobian / products), ("ms", jacobian * 1e3)]);
}

/// A composite of ten primitives along a line, order 16 relative to order 8.
fn jet16_over_jet8(json: bool, _most: usize) {
    let w = Key::new(1).uniform([100, 100], DType::F64) / 50.0;
    let f = |x: &Tensor| {
        let y = x.sin().exp().square().matmul(&w).tanh();
        (y.cos() + 2.0).log().sigmoid() / (&y * &y + 1.0)
    };
    let (x, v) = (Key::new(2).uniform([100, 100], DType::F64), [Tensor::ones([100, 100])]);
    let [eight, sixteen] =
        medians([&mut || drop(black_box(jet(f, &x, &v, 8))), &mut || drop(black_box(jet(f, &x, &v, 16)))]);
    report(json, "jet16_over_jet8", &[("ratio", sixteen / eight), ("order_8_ms", eight * 1e3)]);
}

/// The seeds that a tridiagonal Jacobian takes, and the cost of its values relative to the function.
fn tridiagonal_seeds(json: bool, _most: usize) {
    let f = |x: &Tensor| {
        let padded = x.pad(&[1, 1], PadMode::Constant(0.0));
        padded.slice(..-2) * x.sin() + padded.slice(2..).square()
    };
    let x = Tensor::linspace(0.0, 1.0, 1000);
    let jacobian = SparseJacobian::new(f, &x);
    let [function, values] = medians([&mut || drop(black_box(f(&x))), &mut || drop(black_box(jacobian.values(&x)))]);
    report(
        json,
        "tridiagonal_seeds",
        &[("seeds", jacobian.seeds() as f64), ("values_over_function", values / function)],
    );
}
