//! A recurrent network over 128 steps of 32 sequences.

use super::{Argument, Optimiser, Workload, parameters};
use wengert::prelude::*;

pub fn rnn() -> Workload {
    Workload {
        name: "rnn",
        parameters: parameters(&[&[128, 64], &[128], &[128, 128], &[10, 128], &[10]]),
        arguments: &[Argument::Real(&[128, 32, 64]), Argument::Whole(&[32], 10)],
        loss,
        optimiser: Optimiser::Sgd,
    }
}

fn loss(p: &[Tensor], data: &[Tensor]) -> Tensor {
    let (x, labels) = (&data[0], &data[1]);
    let step = |h: &Tensor, x: &Tensor| ((x.linear_bias(&p[0], &p[1]) + h.linear(&p[2])).tanh(), ());
    let (h, ()) = scan(step, &Tensor::full([32, 128], 0f32), x);
    h.linear_bias(&p[3], &p[4]).cross_entropy(labels, &CrossEntropy::new())
}
