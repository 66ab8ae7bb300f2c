//! Triangular systems `op(A) X = B` and `X op(A) = B`.
//!
//! A triangle is halved recursively until it is small. For a lower triangle, `X1 = A11^-1 B1`, `B2 -= A21 X1` (a matrix product),
//! `X2 = A22^-1 B2`. A solve from the right is the transposed solve from the left.

use super::batch::{expect_length, for_each_matrix};
use super::{Real, Reason, Status, Submatrix, multiply, transpose};
use crate::simd::vectorised;

/// The triangle that [`solve_triangular`] reads, and the side of `X` it is on.
///
/// ```
/// use wengert_kernels::linalg::Triangular;
/// let transpose_of_lower = Triangular { transposed: true, ..Triangular::LOWER };
/// assert!(transpose_of_lower.left && !transpose_of_lower.upper);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Triangular {
    /// The upper triangle of `A` is read, before any transposition; otherwise the lower one.
    pub upper: bool,
    /// The diagonal counts as ones and is not read.
    pub unit_diagonal: bool,
    /// `op(A)` is the transpose of `A`.
    pub transposed: bool,
    /// `op(A) X = B`; otherwise `X op(A) = B`.
    pub left: bool,
}

impl Triangular {
    /// `A X = B` with the lower triangle.
    ///
    /// ```
    /// # use wengert_kernels::linalg::Triangular;
    /// assert!(!Triangular::LOWER.upper);
    /// ```
    pub const LOWER: Triangular = Triangular { upper: false, unit_diagonal: false, transposed: false, left: true };
    /// `A X = B` with the upper triangle.
    ///
    /// ```
    /// # use wengert_kernels::linalg::Triangular;
    /// assert!(Triangular::UPPER.upper);
    /// ```
    pub const UPPER: Triangular = Triangular { upper: true, ..Triangular::LOWER };
}

/// Solves a triangular system for each `m x n` matrix of `b`; those of `a` are `m x m`, or `n x n` on the right side. A zero on the
/// diagonal is an error, [`Reason::Singular`]. NaN propagates to the elements that depend on it.
///
/// ```
/// use wengert_kernels::linalg::{Triangular, solve_triangular};
/// let mut x = [0.0; 2];
/// let a = [2.0, f64::NAN, 1.0, 4.0]; // the upper triangle is not read
/// assert!(solve_triangular(&a, &[2.0, 9.0], [1, 2, 1], Triangular::LOWER, &mut x).is_ok());
/// assert_eq!(x, [1.0, 2.0]);
/// ```
pub fn solve_triangular<T: Real>(
    a: &[T],
    b: &[T],
    [batch, m, n]: [usize; 3],
    triangle: Triangular,
    x: &mut [T],
) -> Status {
    let (order, columns) = if triangle.left { (m, n) } else { (n, m) };
    expect_length("solve_triangular", "a", a.len(), [batch, order, order]);
    expect_length("solve_triangular", "b", b.len(), [batch, m, n]);
    expect_length("solve_triangular", "x", x.len(), [batch, m, n]);
    let work = order * order * columns;
    for_each_matrix(batch, work, [x], &mut [], &|matrix, [x], _| {
        let a = Submatrix::new(&a[matrix * order * order..][..order * order], order, order, order);
        if !triangle.unit_diagonal {
            expect_diagonal(a)?;
        }
        let b = &b[matrix * m * n..][..m * n];
        // On the right side, X op(A) = B is op(A)^T X^T = B^T.
        let flipped = triangle.transposed == triangle.left;
        let (a, upper) = if flipped { (a.transposed(), !triangle.upper) } else { (a, triangle.upper) };
        if triangle.left {
            x.copy_from_slice(b);
            solve_in_place(a, upper, triangle.unit_diagonal, x, n, n);
        } else {
            let mut turned = vec![T::ZERO; m * n];
            transpose(b, m, n, &mut turned);
            solve_in_place(a, upper, triangle.unit_diagonal, &mut turned, m, m);
            transpose(&turned, n, m, x);
        }
        Ok(())
    })
}

/// Rejects a square matrix with a zero on its diagonal.
pub(super) fn expect_diagonal<T: Real>(a: Submatrix<'_, T>) -> Result<(), Reason> {
    match (0..a.rows).find(|&i| a.get(i, i) == T::ZERO) {
        Some(pivot) => Err(Reason::Singular { pivot }),
        None => Ok(()),
    }
}

/// Up to this order, substitution is faster than halving.
const SMALL: usize = 16;

/// `b = a^-1 b` for the triangle `a` and `cols` columns of `b`, whose rows are `step` apart.
pub(super) fn solve_in_place<T: Real>(
    a: Submatrix<'_, T>,
    upper: bool,
    unit: bool,
    b: &mut [T],
    step: usize,
    cols: usize,
) {
    let n = a.rows;
    if n == 0 || cols == 0 {
        return;
    }
    if n <= SMALL {
        return substitute(a, upper, unit, b, step, cols);
    }
    let half = (n / 2).next_multiple_of(SMALL);
    let rest = n - half;
    let (first, second) = (a.block(0, 0, half, half), a.block(half, half, rest, rest));
    let (top, bottom) = b.split_at_mut(half * step);
    if upper {
        solve_in_place(second, upper, unit, bottom, step, cols);
        multiply(a.block(0, half, half, rest), Submatrix::new(bottom, rest, cols, step), -T::ONE, true, top, step);
        solve_in_place(first, upper, unit, top, step, cols);
    } else {
        solve_in_place(first, upper, unit, top, step, cols);
        multiply(a.block(half, 0, rest, half), Submatrix::new(top, half, cols, step), -T::ONE, true, bottom, step);
        solve_in_place(second, upper, unit, bottom, step, cols);
    }
}

vectorised! {
    fn substitute[T: Real](a: Submatrix<'_, T>, upper: bool, unit: bool, b: &mut [T], step: usize, cols: usize) {
        let n = a.rows;
        for done in 0..n {
            let i = if upper { n - 1 - done } else { done };
            let (before, from) = b.split_at_mut(i * step);
            let (row, after) = from.split_at_mut(step.min(from.len()));
            let row = &mut row[..cols];
            for j in if upper { i + 1..n } else { 0..i } {
                let known = if upper { &after[(j - i - 1) * step..][..cols] } else { &before[j * step..][..cols] };
                let factor = a.get(i, j);
                for (x, &known) in row.iter_mut().zip(known) {
                    *x = *x - factor * known;
                }
            }
            if !unit {
                let pivot = a.get(i, i);
                row.iter_mut().for_each(|x| *x = *x / pivot);
            }
        }
    }
}
