//! Sums of many products of `f32`: their relative error does not grow with their length, for any operation.

use wengert::prelude::*;

/// `n` numbers, and 20 columns of them.
type Numbers = (Tensor, Tensor);
type Function = fn(&Numbers) -> Tensor;

/// Each result is a sum of `n` products of two of the numbers.
const SQUARES: &[(&str, Function)] = &[
    ("dot", |(x, _)| x.dot(x)),
    ("einsum of vectors", |(x, _)| Tensor::einsum("i,i->", &[x, x])),
    ("einsum of rows", |(x, _)| Tensor::einsum("ai,bi->ab", &[&rows(x, 5), &rows(x, 7)])),
    ("linear of one row", |(x, _)| x.unsqueeze(0).linear(&x.unsqueeze(0))),
    ("linear of few rows", |(x, _)| rows(x, 2).linear(&rows(x, 3))),
    ("linear of many rows", |(x, _)| rows(x, 6).linear(&rows(x, 40))),
    ("a matrix and a vector", |(x, columns)| columns.t().matmul(x)),
    ("a vector and a matrix", |(x, columns)| x.matmul(columns)),
    ("matrices", |(_, columns)| columns.t().matmul(columns)),
    ("a batch", |(x, _)| {
        let x = x.reshape([1, 1, x.shape()[0]]).expand([2, 3, -1]);
        x.matmul(&x.transpose(1, 2))
    }),
    ("a convolution with one output", |(x, _)| signal(x).conv1d(&signal(x), &Conv::new())),
    ("a convolution with several", |(x, _)| signal(x).conv1d(&signal(x).expand([8, 1, -1]), &Conv::new())),
    ("the weights of a convolution with one output", |(x, _)| {
        vjp(|w: &Tensor| signal(x).conv1d(w, &Conv::new()), &ones([1, 1, 1])).1.call(&signal(x))
    }),
    ("the weights of a convolution with several", |(x, _)| {
        let outputs = signal(x).expand([1, 8, -1]);
        vjp(|w: &Tensor| signal(x).conv1d(w, &Conv::new()), &ones([8, 1, 1])).1.call(&outputs)
    }),
    ("the weights of a linear layer", |(x, columns)| {
        vjp(|w: &Tensor| columns.linear(w), &ones([5, 20])).1.call(&rows(x, 5).t())
    }),
];

/// Each is a sum of `n` of the numbers, times 1.
const PLAIN: &[(&str, Function)] = &[
    ("the weights of a linear layer", |(_, columns)| grad(|w: &Tensor| columns.linear(w).sum())(&ones([5, 20]))),
    ("the weights of a product", |(x, _)| grad(|w: &Tensor| x.unsqueeze(1).matmul(w).sum())(&ones([1, 3]))),
    ("the weights of a convolution with one output", |(x, _)| {
        grad(|w: &Tensor| signal(x).conv1d(w, &Conv::new()).sum())(&ones([1, 1, 1]))
    }),
    ("the weights of a convolution with several", |(x, _)| {
        grad(|w: &Tensor| signal(x).conv1d(w, &Conv::new()).sum())(&ones([8, 1, 1]))
    }),
];

fn ones<const N: usize>(shape: [usize; N]) -> Tensor {
    Tensor::full(shape, 1.0f32)
}

fn rows(x: &Tensor, count: isize) -> Tensor {
    x.expand([count, -1])
}

fn signal(x: &Tensor) -> Tensor {
    x.reshape([1, 1, x.shape()[0]])
}

#[test]
fn sums_of_many_products_are_right_to_a_millionth_whatever_their_length_and_to_the_same_bits_compiled() {
    let tenth = f64::from(0.1f32);
    // Sums that are not long use few chains, for speed.
    for (n, most) in [(1_000, 5e-6), (5_000, 5e-6), (300_000, 1e-6)] {
        let numbers = (Tensor::full([n], 0.1f32), Tensor::full([n, 20], 0.1f32).contiguous());
        for (each, functions) in [(tenth * tenth, SQUARES), (tenth, PLAIN)] {
            for (name, f) in functions {
                let sums = f(&numbers);
                let worst = sums
                    .cast(DType::F64)
                    .to_vec::<f64>()
                    .into_iter()
                    .fold(0.0, |worst: f64, sum| worst.max((sum / (each * n as f64) - 1.0).abs()));
                assert!(worst <= most, "{name} of {n}: {worst:e}");
                assert_eq!(compile(f).call(&numbers), sums, "{name} of {n}, compiled");
            }
        }
    }
}
