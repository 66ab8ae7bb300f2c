//! Sparse derivatives: which input elements each output element depends on, and compressed evaluation.
//!
//! `sets`, joined by `unions`, are followed by the pattern interpreter; `pattern` is what comes out; `colour` and `star` find
//! columns that can share a seed, and `compression` where entries are found then; `compressed` runs all seeds in one batched pass; `jacobian` and `hessian` are what solvers
//! call.

mod colour;
mod compressed;
mod compression;
mod follow;
mod hessian;
mod jacobian;
mod pattern;
mod sets;
mod star;
mod unions;

pub use colour::Colouring;
pub use compression::Compression;
pub use hessian::{SparseHessian, hessian_pattern};
pub use jacobian::{SparseJacobian, jacobian_pattern};
pub use pattern::Pattern;
pub(crate) use sets::Sets;
