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
//! | `batch` | [`Status`], and the batch cut into tiles for the threads |
//! | `real` | [`Real`]: what `f32` and `f64` need beyond arithmetic |
//! | `part` | products of parts of matrices, in place |
//!
//! Every slice is contiguous and row-major, `[batch, rows, cols]`. One matrix is decomposed on one thread; a batch is
//! cut by its shape alone, so bits do not depend on the number of threads. Bad numbers do not panic: a matrix that
//! is singular, not positive or not finite has NaN in all its outputs and its place in the [`Status`]; the others of
//! its batch are not disturbed. Slices of the wrong length do panic.

mod batch;
mod cholesky;
mod cofactor;
mod eigh;
mod exponential;
mod lu;
mod part;
mod qr;
mod real;
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
pub(crate) use part::{Part, dot, multiply, transpose};
pub(crate) use qr::Reflectors;
pub(crate) use real::largest_entry;

#[cfg(test)]
mod tests;
