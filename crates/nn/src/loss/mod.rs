//! Losses that are more than one formula: alignments, contrasts between the rows of a batch, and a classifier whose logits do not fit into
//! memory. Simpler ones are methods of `Tensor`: `cross_entropy`, `mse_loss`, `triplet_margin_loss` and so on.

mod contrastive;
mod ctc;
mod linear_cross_entropy;

pub use contrastive::{info_nce, info_nce_symmetric, nt_xent};
pub use ctc::{Ctc, ctc};
pub use linear_cross_entropy::{LinearCrossEntropy, linear_cross_entropy};

use crate::prelude::*;

/// Reduces the losses of single elements; the divisor of a mean is the sum of `weights`.
#[track_caller]
fn reduce(losses: Tensor, reduction: Reduction, weights: impl FnOnce() -> Tensor) -> Tensor {
    match reduction {
        Reduction::None => losses,
        Reduction::Sum => losses.sum(),
        Reduction::Mean => losses.sum() / weights().sum(),
        Reduction::BatchMean => {
            let batch = losses.shape().first().copied().unwrap_or(1);
            losses.sum() / batch as f64
        }
    }
}

/// An error about the shapes of several tensors, each given with its name.
pub(crate) fn shape_error(name: &str, tensors: &[(&str, &Tensor)], help: &str) -> Error {
    let shapes: Vec<Shape> = tensors.iter().map(|(_, x)| Shape::from(x.shape())).collect();
    let named: Vec<String> = tensors.iter().zip(&shapes).map(|((what, _), shape)| format!("{what} {shape}")).collect();
    Error::new(ErrorKind::Shape(shapes), name, format!("the shapes do not fit: {}", named.join(", "))).help(help)
}
