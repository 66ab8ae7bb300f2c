//! A convolutional network on images of 28 x 28.

use super::{Argument, Optimiser, Workload, parameters};
use wengert::prelude::*;

pub fn cnn() -> Workload {
    Workload {
        name: "cnn",
        parameters: parameters(&[
            &[32, 1, 3, 3],
            &[32],
            &[64, 32, 3, 3],
            &[64],
            &[128, 9216],
            &[128],
            &[10, 128],
            &[10],
        ]),
        arguments: &[Argument::Real(&[64, 1, 28, 28]), Argument::Whole(&[64], 10)],
        loss,
        optimiser: Optimiser::Sgd,
    }
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let convolved = |x: &Tensor, w: &Tensor, b: &Tensor| x.conv2d(w, &Conv::new().bias(b));
    let h = convolved(&data[0], &p[0], &p[1]).relu();
    let h = convolved(&h, &p[2], &p[3]).relu();
    let h = h.max_pool2d(&Pool::new(2)).reshape([64, 9216]);
    let h = h.linear_bias(&p[4], &p[5]).relu();
    h.linear_bias(&p[6], &p[7]).cross_entropy(&data[1], &CrossEntropy::new())
}
