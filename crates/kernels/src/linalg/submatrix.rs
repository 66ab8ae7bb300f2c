//! Submatrices: products into a part of a larger matrix, and the basic vector loops.

use super::Real;
use crate::matmul::Matrix;
use crate::simd::vectorised;

/// A strided, read-only submatrix: element `(i, j)` is `data[i * row_step + j * col_step]`.
#[derive(Clone, Copy)]
pub(crate) struct Submatrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_step: usize,
    pub(crate) col_step: usize,
}

impl<'a, T: Copy> Submatrix<'a, T> {
    /// The leading `rows x cols` submatrix of row-major `data` whose rows are `step` apart.
    pub(crate) fn new(data: &'a [T], rows: usize, cols: usize, step: usize) -> Submatrix<'a, T> {
        let part = Submatrix { data, rows, cols, row_step: step, col_step: 1 };
        assert!(part.reach() <= data.len(), "part {rows}x{cols} with step {step} of {} elements", data.len());
        part
    }

    /// One more than the position of the last element.
    fn reach(&self) -> usize {
        if self.rows == 0 || self.cols == 0 {
            return 0;
        }
        let (rows, cols) =
            ((self.rows - 1).saturating_mul(self.row_step), (self.cols - 1).saturating_mul(self.col_step));
        rows.saturating_add(cols).saturating_add(1)
    }

    pub(crate) fn transposed(self) -> Submatrix<'a, T> {
        Submatrix { rows: self.cols, cols: self.rows, row_step: self.col_step, col_step: self.row_step, ..self }
    }

    fn matrix(self) -> Matrix<'a, T> {
        let Submatrix { data, rows, cols, row_step, col_step } = self;
        Matrix { data, offset: 0, rows, cols, row_stride: row_step as isize, col_stride: col_step as isize }
    }

    /// The `rows x cols` elements from `(row, col)` on.
    pub(crate) fn block(self, row: usize, col: usize, rows: usize, cols: usize) -> Submatrix<'a, T> {
        assert!(row + rows <= self.rows && col + cols <= self.cols, "block of a {}x{} part", self.rows, self.cols);
        let start = (row * self.row_step + col * self.col_step).min(self.data.len());
        Submatrix { data: &self.data[start..], rows, cols, ..self }
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize, col: usize) -> T {
        self.data[row * self.row_step + col * self.col_step]
    }
}

/// `out = factor * a * b`, or `out += factor * a * b` when `keep`; the rows of `out` are `step` apart.
pub(crate) fn multiply<T: Real>(
    a: Submatrix<'_, T>,
    b: Submatrix<'_, T>,
    factor: T,
    keep: bool,
    out: &mut [T],
    step: usize,
) {
    let (rows, cols, depth) = (a.rows, b.cols, a.cols);
    assert_eq!(depth, b.rows, "inner sizes of a product");
    if rows == 0 || cols == 0 || (depth == 0 && keep) {
        return;
    }
    let reach = (rows - 1).saturating_mul(step).saturating_add(cols);
    assert!(cols <= step && reach <= out.len(), "the product leaves its output");
    assert!(a.reach() <= a.data.len() && b.reach() <= b.data.len(), "an operand leaves its data");
    // SAFETY: as asserted, the inner sizes agree, all elements of both operands lie in their data, and `rows` rows of `cols` elements,
    // `step` apart, lie in `out`, which is borrowed mutably and initialised.
    unsafe { T::multiply_scaled(factor, a.matrix(), b.matrix(), keep, out.as_mut_ptr(), step) };
}

/// Writes the transpose of the row-major `rows x cols` matrix `a` to `out`.
pub(crate) fn transpose<T: Copy>(a: &[T], rows: usize, cols: usize, out: &mut [T]) {
    const SIDE: usize = 16;
    for first_row in (0..rows).step_by(SIDE) {
        for first_col in (0..cols).step_by(SIDE) {
            for col in first_col..cols.min(first_col + SIDE) {
                for row in first_row..rows.min(first_row + SIDE) {
                    out[col * rows + row] = a[row * cols + col];
                }
            }
        }
    }
}

const LANES: usize = 16;

#[inline(always)]
pub(super) fn dot_inline<T: Real>(x: &[T], y: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    let ((x_chunks, x_tail), (y_chunks, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x_chunks.iter().zip(y_chunks) {
        for i in 0..LANES {
            lanes[i] = lanes[i] + x[i] * y[i];
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(x_tail).zip(y_tail) {
        *lane = *lane + x * y;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = lanes[i] + lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

vectorised! {
    /// The inner product of vectors of equal length.
    pub(crate) fn dot[T: Real](x: &[T], y: &[T]) -> T {
        dot_inline(x, y)
    }
}

vectorised! {
    /// `y -= factor * x`.
    pub(super) fn subtract[T: Real](y: &mut [T], factor: T, x: &[T]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = *y - factor * x;
        }
    }
}

vectorised! {
    pub(super) fn all_finite[T: Real](a: &[T]) -> bool {
        a.iter().fold(true, |all, x| all & x.finite())
    }
}
