//! Two perceptrons of three layers.

use super::{Argument, Optimiser, Size, Workload, linear, parameters};
use wengert::nn::{Context, Layer, Relu};
use wengert::prelude::*;

pub fn tiny() -> Workload {
    Workload {
        name: "tiny_mlp",
        parameters: parameters(&[&[32, 10], &[32], &[32, 32], &[32], &[1, 32], &[1]]),
        arguments: vec![Argument::Real(vec![16, 10]), Argument::Real(vec![16, 1])],
        loss: |p, data| (perceptron(p, &data[0]) - &data[1]).square().mean(),
        optimiser: Optimiser::Sgd,
    }
}

pub fn mlp(size: Size) -> Workload {
    let (inputs, width, batch) = (size.of(784, 20), size.of(512, 24), size.of(128, 12));
    Workload {
        name: "mlp",
        parameters: parameters(&[&[width, inputs], &[width], &[width, width], &[width], &[10, width], &[10]]),
        arguments: vec![Argument::Real(vec![batch, inputs]), Argument::Whole(vec![batch], 10)],
        loss: |p, data| perceptron(p, &data[0]).cross_entropy(&data[1], &CrossEntropy::new()),
        optimiser: Optimiser::Sgd,
    }
}

fn perceptron(p: &[Tensor], x: &Tensor) -> Tensor {
    let model = (linear(p), Relu, linear(&p[2..]), Relu, linear(&p[4..]));
    model.forward(x, &mut Context::evaluation())
}
