//! A recurrent network over the steps of sequences.

use super::{Argument, Optimiser, Size, Workload, parameters};
use wengert::prelude::*;

pub fn rnn(size: Size) -> Workload {
    let (inputs, width) = (size.of(64, 6), size.of(128, 8));
    let (steps, batch) = (size.of(128, 5), size.of(32, 4));
    Workload {
        name: "rnn",
        parameters: parameters(&[&[width, inputs], &[width], &[width, width], &[10, width], &[10]]),
        arguments: vec![Argument::Real(vec![steps, batch, inputs]), Argument::Whole(vec![batch], 10)],
        loss,
        optimiser: Optimiser::Sgd,
    }
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let (x, labels) = (&data[0], &data[1]);
    let step = |h: &Tensor, x: &Tensor| ((x.linear_bias(&p[0], &p[1]) + h.linear(&p[2])).tanh(), ());
    let (batch, width) = (x.shape()[1], p[2].shape()[0]);
    let (h, ()) = scan(step, &Tensor::full([batch, width], 0f32), x);
    h.linear_bias(&p[3], &p[4]).cross_entropy(labels, &CrossEntropy::new())
}
