//! Measured plots of the guide: the two modes on a Jacobian, and the cost of a gradient.

use crate::timing::{medians, ratio};
use crate::transforms::report;
use std::hint::black_box;
use std::path::Path;
use wengert::prelude::*;
use wengert::view::Plot;

/// The outputs of the function whose Jacobian is measured.
const OUTPUTS: usize = 128;
const INPUTS: [usize; 8] = [16, 64, 128, 192, 256, 320, 384, 512];

/// The numbers of inputs of a gradient, as powers of ten.
const POWERS: [u32; 5] = [2, 3, 4, 5, 6];

/// What a gradient of arithmetic may cost in evaluations of the function (Baur and Strassen; Griewank and Walther).
const BOUND: f64 = 5.0;

/// Measures functions of at most `most` inputs, draws the plots into `folder`, and prints the measurements.
pub fn run(folder: &Path, most: usize, json: bool) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("forward_and_reverse.svg"), forward_and_reverse(most, json).svg())?;
    std::fs::write(folder.join("cheap_gradient.svg"), cheap_gradient(most, json).svg())
}

/// The time of the whole Jacobian of a perceptron in each mode, by the number of inputs.
fn forward_and_reverse(most: usize, json: bool) -> Plot {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for n in INPUTS.into_iter().filter(|n| *n <= most) {
        let first = Tensor::randn([OUTPUTS, n], 1) / (n as f64).sqrt();
        let second = Tensor::randn([OUTPUTS, OUTPUTS], 2) / (OUTPUTS as f64).sqrt();
        let f = |x: &Tensor| second.matmul(&first.matmul(x).tanh());
        let x = Tensor::randn([n], 3);
        let [forward, reverse] =
            medians([&mut || drop(black_box(jacfwd(f)(&x))), &mut || drop(black_box(jacrev(f)(&x)))]);
        let values = [
            ("inputs", n as f64),
            ("outputs", OUTPUTS as f64),
            ("forward_ms", forward * 1e3),
            ("reverse_ms", reverse * 1e3),
        ];
        report(json, "forward_and_reverse", &values);
        columns.push((n as f64, forward * 1e3));
        rows.push((n as f64, reverse * 1e3));
    }
    Plot::new(format!("The Jacobian of a function with {OUTPUTS} outputs"))
        .line("forward mode, all columns", &columns)
        .line("reverse mode, all rows", &rows)
        .x_label("number of inputs")
        .y_label("milliseconds")
}

/// The time of value and gradient in evaluations of the function, by the number of inputs, for several functions.
fn cheap_gradient(most: usize, json: bool) -> Plot {
    let side = |x: &Tensor| (x.elements() as f64).sqrt() as usize;
    let functions: [(&str, &dyn Fn(&Tensor) -> Tensor); 4] = [
        ("elementwise: sum of tanh(x) x²", &|x| (x.tanh() * x.square()).sum()),
        ("neighbours: Rosenbrock's valley", &|x| {
            let (a, b) = (x.slice(..-1), x.slice(1..));
            ((b - a.square()).square() * 100.0 + (1.0 - a).square()).sum()
        }),
        ("matrix: mean of (X X)²", &|x| {
            let matrix = x.slice(..side(x) * side(x)).reshape([side(x), side(x)]);
            matrix.matmul(&matrix).square().mean()
        }),
        ("logits: mean of logsumexp of rows", &|x| x.reshape([x.elements() / 100, 100]).logsumexp_over(1).mean()),
    ];
    let plot = Plot::new("The cost of value and gradient, in evaluations of the function");
    let powers: Vec<u32> = POWERS.into_iter().filter(|power| 10usize.pow(*power) <= most).collect();
    let plot = functions.into_iter().fold(plot, |plot, (name, f)| {
        let measured = powers.iter().map(|power| {
            let x = Tensor::linspace(0.1, 0.9, 10usize.pow(*power));
            let cost = ratio(|| drop(black_box(f(&x))), || drop(black_box(value_and_grad(f)(&x))));
            report(
                json,
                &format!("cheap_gradient, {name}"),
                &[("inputs", x.elements() as f64), ("total_over_function", cost)],
            );
            (f64::from(*power), cost)
        });
        let points: Vec<(f64, f64)> = measured.collect();
        plot.line(name, &points)
    });
    let ends: Vec<(f64, f64)> = powers.iter().map(|power| (f64::from(*power), BOUND)).collect();
    plot.line("bound for arithmetic", &ends).x_label("number of inputs, as a power of ten").y_label("evaluations")
}
