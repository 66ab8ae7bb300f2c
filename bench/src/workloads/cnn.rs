//! A convolutional network on images of 28 x 28.

use super::{Argument, Optimiser, Size, Workload, parameters};
use wengert::prelude::*;

pub fn cnn(size: Size) -> Workload {
    let (first, second, width, batch) = (size.of(32, 4), size.of(64, 6), size.of(128, 16), size.of(64, 2));
    Workload {
        name: "cnn",
        parameters: parameters(&[
            &[first, 1, 3, 3],
            &[first],
            &[second, first, 3, 3],
            &[second],
            &[width, second * 12 * 12],
            &[width],
            &[10, width],
            &[10],
        ]),
        arguments: vec![Argument::Real(vec![batch, 1, 28, 28]), Argument::Whole(vec![batch], 10)],
        loss,
        optimiser: Optimiser::Sgd,
    }
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let convolved = |x: &Tensor, w: &Tensor, b: &Tensor| x.conv2d(w, &Conv::new().bias(b));
    let h = convolved(&data[0], &p[0], &p[1]).relu();
    let h = convolved(&h, &p[2], &p[3]).relu();
    let h = h.max_pool2d(&Pool::new(2)).reshape([data[0].shape()[0], p[4].shape()[1]]);
    let h = h.linear_bias(&p[4], &p[5]).relu();
    h.linear_bias(&p[6], &p[7]).cross_entropy(&data[1], &CrossEntropy::new())
}
