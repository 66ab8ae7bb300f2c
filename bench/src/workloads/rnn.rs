//! A recurrent network over the steps of sequences.

use super::{Argument, Optimiser, Size, Workload, linear, parameters};
use wengert::nn::{Context, Layer, Rnn};
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
    let context = &mut Context::evaluation();
    let h = Rnn::of(p[0].clone(), p[2].clone(), Some(p[1].clone()), None).last(&data[0], context);
    linear(&p[3..]).forward(&h, context).cross_entropy(&data[1], &CrossEntropy::new())
}
