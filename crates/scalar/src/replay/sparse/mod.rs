//! Sparse derivatives of recorded functions, as solvers of nonlinear programs want them: a structure once, values many times.
//!
//! `domains` finds which inputs the numbers of a trace depend on; `structure` has the entries, and reads them off products with few
//! seeds; `jacobian` and `hessian` are what solvers call.

mod domains;
mod hessian;
mod jacobian;
mod structure;

pub use hessian::SparseHessian;
pub use jacobian::SparseJacobian;
