//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

mod differences;
mod distance;
mod statistics;
mod unique;

pub use statistics::{Covariance, Interpolation};
pub use unique::Unique;
