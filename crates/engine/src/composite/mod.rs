//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

mod losses;
mod network;

pub use losses::{CrossEntropy, Reduction};
pub use network::{Bag, EmbeddingBag, GridSample, Interpolate, InterpolateMode, Outside};
