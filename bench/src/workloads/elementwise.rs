//! A long elementwise expression of three large vectors.

use super::{Optimiser, Size, Workload, parameters};
use wengert::prelude::*;

pub fn elementwise(size: Size) -> Workload {
    let n = size.or_large(1 << 22, 1000, 1 << 26);
    Workload {
        name: "elementwise",
        parameters: parameters(&[&[n], &[n], &[n]]),
        arguments: Vec::new(),
        loss,
        optimiser: Optimiser::None,
    }
}

fn loss(p: &[Tensor], _data: &[Tensor]) -> Tensor {
    let [x, w, b] = p else { unreachable!("three vectors") };
    ((x * w + b).tanh() * (-x * x).exp() + (x * x).log1p() * b.sigmoid()).sum()
}
