//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

mod arithmetic;
mod differences;
mod distance;
mod einsum;
pub(crate) mod indexing;
mod linalg;
mod logic;
mod products;
mod random;
mod shape;
mod statistics;
mod unique;

pub use indexing::ScatterReduce;
pub use linalg::MatrixNorm;
pub use shape::PadMode;
pub use statistics::{Covariance, Interpolation};
pub use unique::Unique;
