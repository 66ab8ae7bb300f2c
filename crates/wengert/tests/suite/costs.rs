//! The costs of programs, compared with counts by hand.

use wengert::prelude::*;
use wengert::primitive::Cost;

/// The cost of the program of `f` at zeros of these shapes.
fn cost(f: impl Fn(&Vec<Tensor>) -> Tensor, shapes: &[&[usize]]) -> Cost {
    let x: Vec<Tensor> = shapes.iter().map(|shape| Tensor::zeros_of(*shape, DType::F32)).collect();
    compile(f).program(&x).optimised().cost()
}

/// The bytes of f32 elements.
fn words(count: usize) -> f64 {
    4.0 * count as f64
}

#[test]
fn products_count_two_operations_for_each_pair() {
    let got = cost(|x| x[0].matmul(&x[1]), &[&[5, 7], &[7, 3]]);
    assert_eq!(got, Cost { flops: 2.0 * 5.0 * 7.0 * 3.0, bytes: words(5 * 7 + 7 * 3 + 5 * 3) });
    // Transposed operands are read in place.
    assert_eq!(cost(|x| x[0].matmul(&x[1].t()), &[&[5, 7], &[3, 7]]), got);
    assert_eq!(cost(|x| x[0].linear(&x[1]), &[&[5, 7], &[3, 7]]), got);
    // A batch, and weights shared by the batch.
    let batch = cost(|x| x[0].matmul(&x[1]), &[&[4, 5, 7], &[4, 7, 3]]);
    assert_eq!(batch.flops, 4.0 * got.flops);
    assert_eq!(cost(|x| x[0].matmul(&x[1]), &[&[4, 5, 7], &[7, 3]]).bytes, words(4 * 5 * 7 + 7 * 3 + 4 * 5 * 3));
}

#[test]
fn convolutions_count_two_operations_for_each_tap() {
    let conv = Conv::new().padding(1).stride(2);
    let got = cost(|x| x[0].conv2d(&x[1], &conv), &[&[2, 6, 8, 8], &[4, 6, 3, 3]]);
    assert_eq!(got.flops, 2.0 * (2 * 4 * 4 * 4) as f64 * (6 * 3 * 3) as f64);
    assert_eq!(got.bytes, words(2 * 6 * 8 * 8 + 4 * 6 * 3 * 3 + 2 * 4 * 4 * 4));
    let grouped = Conv::new().padding(1).stride(2).groups(2);
    assert_eq!(cost(|x| x[0].conv2d(&x[1], &grouped), &[&[2, 6, 8, 8], &[4, 3, 3, 3]]).flops, got.flops / 2.0);
}

#[test]
fn gradients_of_a_convolution_cost_as_much_as_itself() {
    let conv = Conv::new().padding(1);
    let shapes: [&[usize]; 2] = [&[2, 6, 8, 8], &[4, 6, 3, 3]];
    let forward = cost(|x| x[0].conv2d(&x[1], &conv), &shapes).flops;
    let x: Vec<Tensor> = shapes.iter().map(|shape| Tensor::zeros_of(*shape, DType::F32)).collect();
    let program = compile(grad(|x: &Vec<Tensor>| x[0].conv2d(&x[1], &conv).square().sum())).program(&x);
    let costs = program.equations().iter().zip(program.costs());
    let convolutions: Vec<f64> =
        costs.filter(|(equation, _)| equation.op.name().starts_with("conv")).map(|(_, cost)| cost.flops).collect();
    assert_eq!(convolutions, [forward; 3]);
}

#[test]
fn attention_counts_its_two_products_and_five_in_reverse() {
    let (heads, queries, keys, width) = (6, 10, 12, 8);
    let shapes: [&[usize]; 3] = [&[2, 3, 10, 8], &[2, 3, 12, 8], &[2, 3, 12, 8]];
    let got = cost(|x| x[0].attention(&x[1], &x[2], &Attention::new()), &shapes);
    let pairs = heads * queries * keys;
    assert_eq!(got.flops, 2.0 * (pairs * width) as f64 * 2.0);
    let x: Vec<Tensor> = shapes.iter().map(|shape| Tensor::zeros_of(*shape, DType::F32)).collect();
    let f = |x: &Vec<Tensor>| x[0].attention(&x[1], &x[2], &Attention::new()).square().sum();
    let program = compile(grad(f)).program(&x);
    let mut costs = program.equations().iter().zip(program.costs());
    let (_, reverse) = costs.find(|(equation, _)| equation.op.name() == "attention_gradient").unwrap();
    assert_eq!(reverse.flops, 5.0 * 2.0 * (pairs * width) as f64);
}

#[test]
fn reductions_read_everything_once() {
    let n = 6 * 50;
    assert_eq!(cost(|x| x[0].sum(), &[&[6, 50]]), Cost { flops: n as f64, bytes: words(n + 1) });
    assert_eq!(cost(|x| x[0].sum_over(0), &[&[6, 50]]), Cost { flops: n as f64, bytes: words(n + 50) });
    // Maximum, difference, exponential, sum and quotient.
    assert_eq!(cost(|x| x[0].softmax(-1), &[&[6, 50]]), Cost { flops: 5.0 * n as f64, bytes: words(2 * n) });
    assert_eq!(cost(|x| x[0].logsumexp_over(-1), &[&[6, 50]]).flops, 4.0 * n as f64);
}

#[test]
fn norms_and_losses_count_every_step_of_their_formulas() {
    let (rows, n) = (6, 50);
    let f = |x: &Vec<Tensor>| x[0].layer_norm(&[50], &Norm::new().weight(&x[1]).bias(&x[2]));
    let got = cost(f, &[&[6, 50], &[50], &[50]]);
    // Mean 1, variance 3, result 2, weight and bias 2; root, reciprocal and epsilon for each row.
    assert_eq!(got.flops, (8 * rows * n + 3 * rows) as f64);
    assert_eq!(got.bytes, words(2 * rows * n + 2 * n + 2 * rows));
    let targets = Tensor::from([0i64, 1, 2, 3, 4, 5]);
    let got = cost(|x| x[0].cross_entropy(&targets, &CrossEntropy::new().reduction(Reduction::None)), &[&[6, 50]]);
    assert_eq!(got.flops, (4 * rows * n + 3 * rows) as f64);
    assert_eq!(got.bytes, words(rows * n + 2 * rows) + 8.0 * rows as f64);
}

#[test]
fn views_cost_nothing_and_repetitions_are_read_once() {
    let got = cost(|x| x[0].t().slice((1..3, ..)).reshape([10]), &[&[5, 7]]);
    assert_eq!(got, Cost::default());
    let got = cost(|x| &x[0] * &x[1], &[&[5, 7], &[7]]);
    assert_eq!(got, Cost { flops: 35.0, bytes: words(35 + 7 + 35) });
    let got = cost(|x| x[0].hypot(&x[0]), &[&[5, 7]]);
    assert_eq!(got.bytes, words(35 + 35), "one operand, read once");
}

#[test]
fn the_table_has_costs_and_lines() {
    let x = Tensor::zeros([2, 3]);
    let table = compile(|x: &Tensor| x.matmul(&x.t()).sum()).program(&x).table();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + 3 + 1, "{table}");
    assert!(lines[2].trim_start().starts_with("24 ") && lines[2].contains("costs.rs:"), "{table}");
    assert!(lines[4].ends_with("in 3 equations"), "{table}");
}
