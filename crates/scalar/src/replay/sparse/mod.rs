//! Sparse derivatives of recorded functions, as nonlinear-programming solvers need them: the structure once, the values many times.
//!
//! `domains` finds which inputs the values of a trace depend on; `structure` stores the entries and reads them off products with few seeds;
//! `jacobian` and `hessian` are the interface for solvers.

mod domains;
mod hessian;
mod jacobian;
mod structure;

pub use hessian::SparseHessian;
pub use jacobian::SparseJacobian;
