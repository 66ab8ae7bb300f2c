//! `A = U diag(s) V^T` for batches, thin or full, by the [one-sided Jacobi method](mod@crate::svd).
//!
//! The missing columns of a full `U` are the last columns of the complete `Q` of the thin one.

use super::batch::{expect_finite, expect_length, for_each_matrix};
use super::{Real, Reflectors, Status, transpose};

/// Decomposes `m x n` matrices: with `k = min(m, n)`, `s` is `k` numbers in descending order, `u` is `m x k` and `vh` is
/// `k x n`, or `m x m` and `n x n` when `full`. In each of the first `k` columns of `U` the entry of largest magnitude
/// (the first among equals) is positive.
///
/// ```
/// let (mut u, mut s, mut vh) = ([0.0; 4], [0.0], [0.0]);
/// assert!(wengert_kernels::linalg::svd(&[0.0, -2.0], [1, 2, 1], true, &mut u, &mut s, &mut vh).is_ok());
/// assert_eq!((s, vh, u[0], u[2]), ([2.0], [-1.0], 0.0, 1.0));
/// ```
pub fn svd<T: Real>(a: &[T], [batch, m, n]: [usize; 3], full: bool, u: &mut [T], s: &mut [T], vh: &mut [T]) -> Status {
    let k = m.min(n);
    let (u_cols, vh_rows) = if full { (m, n) } else { (k, k) };
    expect_length("svd", "a", a.len(), [batch, m, n]);
    expect_length("svd", "u", u.len(), [batch, m, u_cols]);
    expect_length("svd", "s", s.len(), [batch, k, 1]);
    expect_length("svd", "vh", vh.len(), [batch, vh_rows, n]);
    for_each_matrix(batch, 30 * m * n * k, [u, s, vh], &mut [], &|matrix, [u, s, vh], _| {
        let a = &a[matrix * m * n..][..m * n];
        expect_finite(a)?;
        if u_cols == k {
            crate::svd(a, m, n, u, s, &mut vh[..k * n]);
        } else {
            let mut thin = vec![T::ZERO; m * k];
            crate::svd(a, m, n, &mut thin, s, vh);
            let mut columns = vec![T::ZERO; k * m];
            transpose(&thin, m, k, &mut columns);
            let mut rows = columns.clone();
            rows.extend(complement(&mut columns, k, m));
            transpose(&rows, m, m, u);
        }
        if vh_rows > k {
            let mut rows = vh[..k * n].to_vec();
            vh[k * n..].copy_from_slice(&complement(&mut rows, k, n));
        }
        Ok(())
    })
}

/// Orthonormal vectors of `length` elements that are orthogonal to `count` given ones; those are overwritten.
fn complement<T: Real>(vectors: &mut [T], count: usize, length: usize) -> Vec<T> {
    Reflectors::of(vectors, length, count).product(length).split_off(count * length)
}
