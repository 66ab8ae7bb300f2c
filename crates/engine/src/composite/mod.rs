//! Functions made of other operations: methods of `Tensor` that need no rule of their own.

mod einsum;
mod linalg;
mod products;

pub use linalg::MatrixNorm;
