//! `P A = L U` with partial pivoting, and the solvers built on it: `A X = B` and `A^-1`.
//!
//! Panels of 32 columns are factored row by row in scratch memory. The rest of the matrix is updated with one triangular solve and one
//! matrix product per panel: `U12 = L11^-1 A12`, `A22 -= L21 U12`.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::submatrix::Submatrix;
use super::triangular::{expect_diagonal, solve_in_place};
use super::{Real, Reason, Status, multiply};
use crate::simd::vectorised;

/// Decomposes `m x n` matrices: `packed` holds `L` (below its unit diagonal) and `U`. `pivots` has `k = min(m, n)` entries: step `i`
/// exchanged row `i` with row `pivots[i]`, counted from 0. `signs` holds one number per matrix, the determinant 1 or -1 of the permutation.
/// A singular matrix is not a failure.
///
/// ```
/// let (mut packed, mut pivots, mut sign) = ([0.0; 4], [0; 2], [0.0]);
/// let a = [1.0, 2.0, 4.0, 4.0];
/// assert!(wengert_kernels::linalg::lu(&a, [1, 2, 2], &mut packed, &mut pivots, &mut sign).is_ok());
/// assert_eq!((packed, pivots, sign), ([4.0, 4.0, 0.25, 1.0], [1, 1], [-1.0]));
/// ```
pub fn lu<T: Real>(
    a: &[T],
    [batch, m, n]: [usize; 3],
    packed: &mut [T],
    pivots: &mut [i64],
    signs: &mut [T],
) -> Status {
    let k = m.min(n);
    expect_length("lu", "a", a.len(), [batch, m, n]);
    expect_length("lu", "packed", packed.len(), [batch, m, n]);
    expect_length("lu", "pivots", pivots.len(), [batch, k, 1]);
    expect_length("lu", "signs", signs.len(), [batch, 1, 1]);
    for_each_matrix(batch, m * n * k, [packed, signs], pivots, &|matrix, [packed, sign], pivots| {
        packed.copy_from_slice(&a[matrix * m * n..][..m * n]);
        pivots.iter_mut().zip(0..).for_each(|(pivot, i)| *pivot = i);
        expect_finite(packed)?;
        sign[0] = factor(packed, m, n, pivots);
        Ok(())
    })
}

/// Solves `A X = B`, or `A^T X = B` if `transposed`, from the result of [`lu`] for `n x n` matrices; those in `b` and `x` are
/// `n x columns`. A zero pivot is an error, [`Reason::Singular`].
///
/// ```
/// use wengert_kernels::linalg::lu_solve;
/// let mut x = [0.0; 2];
/// assert!(lu_solve(&[4.0, 4.0, 0.25, 1.0], &[1, 1], &[5.0, 12.0], [1, 2, 1], false, &mut x).is_ok());
/// assert_eq!(x, [1.0, 2.0]);
/// ```
pub fn lu_solve<T: Real>(
    packed: &[T],
    pivots: &[i64],
    b: &[T],
    [batch, n, columns]: [usize; 3],
    transposed: bool,
    x: &mut [T],
) -> Status {
    expect_length("lu_solve", "packed", packed.len(), [batch, n, n]);
    expect_length("lu_solve", "pivots", pivots.len(), [batch, n, 1]);
    expect_length("lu_solve", "b", b.len(), [batch, n, columns]);
    expect_length("lu_solve", "x", x.len(), [batch, n, columns]);
    for_each_matrix(batch, n * n * columns, [x], &mut [], &|matrix, [x], _| {
        x.copy_from_slice(&b[matrix * n * columns..][..n * columns]);
        solve_factored(&packed[matrix * n * n..][..n * n], n, &pivots[matrix * n..][..n], transposed, x, columns)
    })
}

/// Solves `A X = B`, or `A^T X = B` if `transposed`; `n x n` matrices in `a`, `n x columns` in `b` and `x`.
///
/// ```
/// let mut x = [0.0; 2];
/// let a = [1.0, 2.0, 4.0, 4.0];
/// assert!(wengert_kernels::linalg::solve(&a, &[5.0, 12.0], [1, 2, 1], false, &mut x).is_ok());
/// assert_eq!(x, [1.0, 2.0]);
/// ```
pub fn solve<T: Real>(a: &[T], b: &[T], [batch, n, columns]: [usize; 3], transposed: bool, x: &mut [T]) -> Status {
    expect_length("solve", "a", a.len(), [batch, n, n]);
    expect_length("solve", "b", b.len(), [batch, n, columns]);
    expect_length("solve", "x", x.len(), [batch, n, columns]);
    for_each_matrix(batch, n * n * (n + columns), [x], &mut [], &|matrix, [x], _| {
        x.copy_from_slice(&b[matrix * n * columns..][..n * columns]);
        factor_and_solve(&a[matrix * n * n..][..n * n], n, transposed, x, columns)
    })
}

/// The inverses of `n x n` matrices.
///
/// ```
/// let mut inverse = [0.0; 4];
/// assert!(wengert_kernels::linalg::inv(&[0.0, 2.0, 4.0, 0.0], [1, 2], &mut inverse).is_ok());
/// assert_eq!(inverse, [0.0, 0.25, 0.5, 0.0]);
/// ```
pub fn inv<T: Real>(a: &[T], [batch, n]: [usize; 2], inverse: &mut [T]) -> Status {
    expect_length("inv", "a", a.len(), [batch, n, n]);
    expect_length("inv", "inverse", inverse.len(), [batch, n, n]);
    for_each_matrix(batch, 2 * n * n * n, [inverse], &mut [], &|matrix, [inverse], _| {
        inverse.fill(T::ZERO);
        inverse.iter_mut().step_by(n + 1).for_each(|x| *x = T::ONE);
        factor_and_solve(&a[matrix * n * n..][..n * n], n, false, inverse, n)
    })
}

fn factor_and_solve<T: Real>(a: &[T], n: usize, transposed: bool, x: &mut [T], columns: usize) -> Result<(), Reason> {
    expect_finite(a)?;
    let (mut packed, mut pivots) = (a.to_vec(), vec![0; n]);
    factor(&mut packed, n, n, &mut pivots);
    solve_factored(&packed, n, &pivots, transposed, x, columns)
}

pub(super) fn solve_factored<T: Real>(
    packed: &[T],
    n: usize,
    pivots: &[i64],
    transposed: bool,
    x: &mut [T],
    columns: usize,
) -> Result<(), Reason> {
    let packed = Submatrix::new(packed, n, n, n);
    expect_diagonal(packed)?;
    if transposed {
        solve_in_place(packed.transposed(), false, false, x, columns, columns);
        solve_in_place(packed.transposed(), true, true, x, columns, columns);
        (0..n).rev().for_each(|i| swap_rows(x, columns, i, checked(pivots[i], n)));
    } else {
        (0..n).for_each(|i| swap_rows(x, columns, i, checked(pivots[i], n)));
        solve_in_place(packed, false, true, x, columns, columns);
        solve_in_place(packed, true, false, x, columns, columns);
    }
    Ok(())
}

fn checked(pivot: i64, n: usize) -> usize {
    assert!(0 <= pivot && pivot < n as i64, "lu_solve: pivot {pivot} of {n} rows");
    pivot as usize
}

fn swap_rows<T>(a: &mut [T], cols: usize, i: usize, j: usize) {
    if i != j {
        let (upper, lower) = a.split_at_mut(i.max(j) * cols);
        upper[i.min(j) * cols..][..cols].swap_with_slice(&mut lower[..cols]);
    }
}

const PANEL: usize = 32;
const LANES: usize = 8;

/// Factors the row-major `m x n` matrix in place and returns the sign of the permutation.
pub(super) fn factor<T: Real>(a: &mut [T], m: usize, n: usize, pivots: &mut [i64]) -> T {
    let k = m.min(n);
    let mut sign = T::ONE;
    let mut scratch: Vec<[T; PANEL]> = Vec::with_capacity(m);
    for first in (0..k).step_by(PANEL) {
        let width = PANEL.min(k - first);
        let end = first + width;
        scratch.clear();
        scratch.extend(a.chunks_exact(n).skip(first).map(|row| {
            let mut padded = [T::ZERO; PANEL];
            padded[..width].copy_from_slice(&row[first..end]);
            padded
        }));
        factor_panel(&mut scratch, width, &mut pivots[first..end]);
        for i in first..end {
            let other = first + pivots[i] as usize;
            pivots[i] = other as i64;
            if i != other {
                sign = -sign;
                swap_rows(a, n, i, other);
            }
        }
        for (row, panel) in a.chunks_exact_mut(n).skip(first).zip(&scratch) {
            row[first..end].copy_from_slice(&panel[..width]);
        }
        if end < n {
            let panel = Submatrix::new(scratch.as_flattened(), m - first, width, PANEL);
            let (above, below) = a.split_at_mut(end * n);
            let right = &mut above[first * n + end..];
            solve_in_place(panel.block(0, 0, width, width), false, true, right, n, n - end);
            if end < m {
                let right = Submatrix::new(right, width, n - end, n);
                multiply(panel.block(width, 0, m - end, width), right, -T::ONE, true, &mut below[end..], n);
            }
        }
    }
    sign
}

vectorised! {
    /// Factors the first `width` columns of rows that are padded with zeros; pivots are relative to the first row.
    fn factor_panel[T: Real](rows: &mut [[T; PANEL]], width: usize, pivots: &mut [i64]) {
        let mut best = (0, rows[0][0].magnitude());
        for (i, row) in rows.iter().enumerate() {
            if row[0].magnitude() > best.1 {
                best = (i, row[0].magnitude());
            }
        }
        let lanes_end = width.div_ceil(LANES);
        for j in 0..width {
            pivots[j] = best.0 as i64;
            rows.swap(j, best.0);
            // Zero in the finished columns, so that full vectors can be subtracted.
            let mut pivot_row = rows[j];
            pivot_row[..=j].fill(T::ZERO);
            let pivot = rows[j][j];
            let next = (j + 1).min(PANEL - 1);
            best = (j + 1, -T::ONE);
            for (i, row) in rows.iter_mut().enumerate().skip(j + 1) {
                if pivot != T::ZERO {
                    let factor = row[j] / pivot;
                    row[j] = factor;
                    let (pivot_lanes, lanes) = (pivot_row.as_chunks::<LANES>().0, row.as_chunks_mut::<LANES>().0);
                    for lane in next / LANES..lanes_end {
                        for e in 0..LANES {
                            lanes[lane][e] = lanes[lane][e] - factor * pivot_lanes[lane][e];
                        }
                    }
                }
                let size = row[next].magnitude();
                if size > best.1 {
                    best = (i, size);
                }
            }
        }
    }
}
