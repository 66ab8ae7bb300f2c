//! Sparse derivatives: sparsity patterns, colourings and compressed evaluation.
//!
//! The pattern interpreter (`pattern_interpreter`) propagates `sets`, merged by `unions`, and yields a `pattern`. `colour` and `star` find columns that
//! can share a seed, and `compression` where the entries are then found. `compressed` runs all seeds in one batched pass. `jacobian` and
//! `hessian` are the interface for solvers.

mod colour;
mod compressed;
mod compression;
mod hessian;
mod jacobian;
mod pattern;
mod pattern_interpreter;
mod sets;
mod star;
mod unions;

pub use colour::Colouring;
pub use compression::Compression;
pub use hessian::{SparseHessian, hessian_pattern};
pub use jacobian::{SparseJacobian, jacobian_pattern};
pub use pattern::Pattern;
pub(crate) use sets::Sets;
