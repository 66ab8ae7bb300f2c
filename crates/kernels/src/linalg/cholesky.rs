//! `A = L L^T` for symmetric positive definite `A`. Only the lower triangle is read.
//!
//! Panels of 32 columns are factored row by row, `l_ij = (a_ij - sum over p < j of l_ip l_jp) / l_jj`. Then the trailing matrix is updated
//! with matrix products, `A22 -= L21 L21^T`, in strips that skip most of the upper triangle.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::submatrix::Submatrix;
use super::{Real, Reason, Status, multiply};
use crate::simd::vectorised;

/// The lower triangular factors of `n x n` matrices, with zeros above the diagonal. A pivot that is zero or negative is an error,
/// [`Reason::NotPositive`].
///
/// ```
/// let mut l = [0.0; 4];
/// let a = [4.0, f64::NAN, 2.0, 10.0]; // the upper triangle is not read
/// assert!(wengert_kernels::linalg::cholesky(&a, [1, 2], &mut l).is_ok());
/// assert_eq!(l, [2.0, 0.0, 1.0, 3.0]);
/// ```
pub fn cholesky<T: Real>(a: &[T], [batch, n]: [usize; 2], l: &mut [T]) -> Status {
    expect_length("cholesky", "a", a.len(), [batch, n, n]);
    expect_length("cholesky", "l", l.len(), [batch, n, n]);
    for_each_matrix(batch, n * n * n / 2, [l], &mut [], &|matrix, [l], _| {
        let a = &a[matrix * n * n..][..n * n];
        l.fill(T::ZERO);
        for i in 0..n {
            l[i * n..][..=i].copy_from_slice(&a[i * n..][..=i]);
        }
        expect_finite(l)?;
        factor(l, n)
    })
}

const PANEL: usize = 32;
const LANES: usize = 8;
/// The number of rows of a strip of the trailing update.
const STRIP: usize = 64;

fn factor<T: Real>(l: &mut [T], n: usize) -> Result<(), Reason> {
    let mut scratch: Vec<[T; PANEL]> = Vec::with_capacity(n);
    for first in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - first);
        let end = first + width;
        scratch.clear();
        scratch.extend(l.chunks_exact(n).skip(first).map(|row| {
            let mut padded = [T::ZERO; PANEL];
            padded[..width].copy_from_slice(&row[first..end]);
            padded
        }));
        if let Some(pivot) = factor_panel(&mut scratch, width) {
            return Err(Reason::NotPositive { pivot: first + pivot });
        }
        for (i, (row, panel)) in l.chunks_exact_mut(n).skip(first).zip(&scratch).enumerate() {
            let known = width.min(i + 1);
            row[first..first + known].copy_from_slice(&panel[..known]);
        }
        let below = Submatrix::new(scratch.as_flattened(), n - first, width, PANEL).block(width, 0, n - end, width);
        for row in (0..n - end).step_by(STRIP) {
            let rows = STRIP.min(n - end - row);
            let left = below.block(row, 0, rows, width);
            let right = below.block(0, 0, row + rows, width).transposed();
            multiply(left, right, -T::ONE, true, &mut l[(end + row) * n + end..], n);
        }
    }
    for i in 0..n {
        l[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    Ok(())
}

vectorised! {
    /// Factors the first `width` columns of rows. Returns the index of a pivot that is not positive.
    fn factor_panel[T: Real](rows: &mut [[T; PANEL]], width: usize) -> Option<usize> {
        // Row j holds the known part of column j of L.
        let mut columns = [[T::ZERO; PANEL]; PANEL];
        let mut reciprocals = [T::ZERO; PANEL];
        let (head, below) = rows.split_at_mut(width);
        for i in 0..width {
            let row = &mut head[i];
            eliminate([row], &columns, &reciprocals, i, width);
            let mut pivot = row[i];
            for j in 0..i {
                columns[j][i] = row[j];
                pivot = pivot - row[j] * row[j];
            }
            if !(pivot > T::ZERO && pivot.finite()) {
                return Some(i);
            }
            row[i] = pivot.root();
            reciprocals[i] = T::ONE / row[i];
        }
        let (quads, rest) = below.as_chunks_mut::<4>();
        for quad in quads {
            eliminate(quad.each_mut(), &columns, &reciprocals, width, width);
        }
        for row in rest {
            eliminate([row], &columns, &reciprocals, width, width);
        }
        None
    }
}

/// `x_j = (a_j - sum over p < j of x_p l_jp) / l_jj` for `j < known`, in several rows at once, because each row is a chain of dependent
/// steps.
#[inline(always)]
fn eliminate<T: Real, const ROWS: usize>(
    mut rows: [&mut [T; PANEL]; ROWS],
    columns: &[[T; PANEL]; PANEL],
    reciprocals: &[T; PANEL],
    known: usize,
    width: usize,
) {
    for j in 0..known {
        let column = columns[j].as_chunks::<LANES>().0;
        for row in &mut rows {
            let x = row[j] * reciprocals[j];
            let lanes = row.as_chunks_mut::<LANES>().0;
            for lane in j / LANES..width.div_ceil(LANES) {
                for e in 0..LANES {
                    lanes[lane][e] = lanes[lane][e] - x * column[lane][e];
                }
            }
            row[j] = x;
        }
    }
}
