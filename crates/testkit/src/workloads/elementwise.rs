//! A long elementwise expression of three large vectors.

use super::{Optimiser, Workload, parameters};
use wengert::prelude::*;

const N: usize = 1 << 22;

pub fn elementwise() -> Workload {
    Workload {
        name: "elementwise",
        parameters: parameters(&[&[N], &[N], &[N]]),
        arguments: &[],
        loss,
        optimiser: Optimiser::None,
    }
}

fn loss(p: &[Tensor], _data: &[Tensor]) -> Tensor {
    let [x, w, b] = p else { unreachable!("three vectors") };
    ((x * w + b).tanh() * (-x * x).exp() + (x * x).log1p() * b.sigmoid()).sum()
}
