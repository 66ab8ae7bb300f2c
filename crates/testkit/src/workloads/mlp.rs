//! Two perceptrons of three layers.

use super::{Argument, Optimiser, Workload, parameters};
use wengert::prelude::*;

pub fn tiny() -> Workload {
    Workload {
        name: "tiny_mlp",
        parameters: parameters(&[&[32, 10], &[32], &[32, 32], &[32], &[1, 32], &[1]]),
        arguments: &[Argument::Real(&[16, 10]), Argument::Real(&[16, 1])],
        loss: |p, data| (perceptron(p, &data[0]) - &data[1]).square().mean(),
        optimiser: Optimiser::Sgd,
    }
}

pub fn mlp() -> Workload {
    Workload {
        name: "mlp",
        parameters: parameters(&[&[512, 784], &[512], &[512, 512], &[512], &[10, 512], &[10]]),
        arguments: &[Argument::Real(&[128, 784]), Argument::Whole(&[128], 10)],
        loss: |p, data| perceptron(p, &data[0]).cross_entropy(&data[1], &CrossEntropy::new()),
        optimiser: Optimiser::Sgd,
    }
}

fn perceptron(p: &[Tensor], x: &Tensor) -> Tensor {
    let h = x.linear_bias(&p[0], &p[1]).relu();
    let h = h.linear_bias(&p[2], &p[3]).relu();
    h.linear_bias(&p[4], &p[5])
}
