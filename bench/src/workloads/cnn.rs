//! A convolutional network on images of 28 x 28.

use super::{Argument, Optimiser, Size, Workload, linear, parameters};
use wengert::nn::{Context, Conv2d, Flatten, Layer, MaxPool2d, Relu};
use wengert::prelude::*;

pub fn cnn(size: Size) -> Workload {
    let (first, second, width) = (size.of(32, 4), size.of(64, 6), size.of(128, 16));
    let batch = size.or_large(64, 2, 256);
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
    let convolution = |p: &[Tensor]| Conv2d::of(p[0].clone(), Some(p[1].clone()));
    let features = (convolution(p), Relu, convolution(&p[2..]), Relu, MaxPool2d::new(2), Flatten);
    let model = (features, linear(&p[4..]), Relu, linear(&p[6..]));
    model.forward(&data[0], &mut Context::evaluation()).cross_entropy(&data[1], &CrossEntropy::new())
}
