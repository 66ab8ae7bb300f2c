//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

mod arithmetic;
mod differences;
mod distance;
pub(crate) mod indexing;
mod logic;
mod losses;
mod network;
mod random;
mod shape;
mod statistics;
mod unique;

pub use indexing::ScatterReduce;
pub use losses::{CrossEntropy, Reduction};
pub use network::{Bag, EmbeddingBag, GridSample, Interpolate, InterpolateMode, Outside};
pub use shape::PadMode;
pub use statistics::{Covariance, Interpolation};
pub use unique::Unique;
