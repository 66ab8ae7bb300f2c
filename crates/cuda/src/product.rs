//! Matrix products as data.
//!
//! Of what the library can do behind a product, only the bias is used. Its GELU is that of sums that were not rounded, by another
//! approximation: in f32, 6 % of the results have the bits of a product and a loop, in bf16 67 %. Results would depend on what is fused, so a
//! memory budget, which computes again from stored values, would change bits. Sums of rows are part of the loop that makes the rows, and
//! residuals are added where the next normalisation reads them.

use wengert_core::DType;
use wengert_kernels::memory::Span;

/// A matrix operand: rows or columns lie side by side in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    /// Its bytes, from the first element on.
    pub span: Span,
    /// Whether columns lie side by side.
    pub is_transposed: bool,
    /// The elements between rows, or columns.
    pub leading: usize,
    /// The elements between matrices of a batch.
    pub batch: usize,
}

/// How many digits the factors of products keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rounding {
    /// All of them.
    #[default]
    None,
    /// Those of TF32.
    Tf32,
}

/// `c = a b + bias`, for every matrix of a batch; `c` is row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The type of the elements.
    pub dtype: DType,
    /// The number of matrices.
    pub batch: usize,
    /// The rows of `a` and `c`.
    pub rows: usize,
    /// The columns of `b` and `c`.
    pub cols: usize,
    /// The columns of `a` and the rows of `b`.
    pub inner: usize,
    /// The left factor.
    pub a: Matrix,
    /// The right factor.
    pub b: Matrix,
    /// The result.
    pub c: Span,
    /// A number for each column.
    pub bias: Option<Span>,
    /// How factors are rounded.
    pub rounding: Rounding,
    /// Memory that the library may use.
    pub workspace: Span,
}

/// The bytes that a product may use for each element of its result, and the most.
pub const PARTIAL_SUMS: (usize, usize) = (32, 32 << 20);
