//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

pub(crate) mod indexing;
mod random;
mod shape;

pub use indexing::ScatterReduce;
pub use shape::PadMode;
