//! Decompositions and solvers for batches of small and medium matrices: `A = P L U`, `L L^T`, `Q R`, `V diag(w) V^T`,
//! `U diag(s) V^T`, `A X = B`.
//!
//! | file | function |
//! |---|---|
//! | `lu` | [`lu`], [`lu_solve`], [`solve`], [`inv`] |
//! | `triangular` | [`solve_triangular`] |
//! | `triangle` | [`triangle_part`] |
//! | `cholesky` | [`cholesky`] |
//! | `qr` | [`qr`] |
//! | `eigh` | [`eigh`] |
//! | `svd` | [`svd`] |
//! | `cofactor` | [`cofactor`] |
//! | `exponential` | [`matrix_exp`] |
//! | `batch` | [`Status`], and the division of a batch into tiles for the threads |
//! | `real` | [`Real`]: operations on `f32` and `f64` beyond arithmetic |
//! | `part` | products of submatrices, in place |
//!
//! Every slice is contiguous and row-major, `[batch, rows, cols]`. One matrix is decomposed on one thread. A batch is cut by its shape
//! alone, so the bits do not depend on the number of threads. Bad values do not panic: a matrix that is singular, not positive definite or
//! not finite gets NaN in all its outputs and an entry in the [`Status`]; the other matrices of its batch are not affected. Slices of the
//! wrong length do panic.

mod batch;
mod cholesky;
mod cofactor;
mod eigh;
mod exponential;
mod lu;
mod qr;
mod real;
mod submatrix;
mod svd;
mod triangle;
mod triangular;

pub use batch::{Failure, Reason, Status};
pub use cholesky::cholesky;
pub use cofactor::cofactor;
pub use eigh::eigh;
pub use exponential::matrix_exp;
pub use lu::{inv, lu, lu_solve, solve};
pub use qr::qr;
pub use real::Real;
pub use svd::svd;
pub use triangle::triangle_part;
pub use triangular::{Triangular, solve_triangular};

pub(crate) use eigh::eigenpairs;
pub(crate) use qr::Reflectors;
pub(crate) use real::largest_entry;
pub(crate) use submatrix::{Submatrix, dot, multiply, transpose};

#[cfg(test)]
mod tests;
