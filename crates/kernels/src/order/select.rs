//! The first `k` elements in sorted order, and the `k`-th, without sorting the rest.

use super::key::{Sortable, pack_row};
use super::sort::write_sorted;
use crate::reduce::for_each_group;
use crate::threads::Disjoint;

/// The `k` largest (or smallest) elements of each row of `n`, sorted from the largest (smallest) on; earlier positions
/// come first among equals. NaN is greatest.
///
/// ```
/// let (mut values, mut indices) = ([0; 2], [0; 2]);
/// wengert_kernels::order::topk(&[5i64, 9, 1, 9], 4, 2, true, &mut values, &mut indices);
/// assert_eq!((values, indices), ([9, 9], [1, 3]));
/// ```
pub fn topk<T: Sortable>(x: &[T], n: usize, k: usize, largest: bool, values: &mut [T], indices: &mut [i64]) {
    assert!(k <= n, "topk: {k} of rows of {n}");
    let rows = x.len().checked_div(n).unwrap_or(0);
    assert!(
        x.len() == rows * n && values.len() == rows * k && indices.len() == rows * k,
        "topk: {} elements in rows of {n}, of which {k}, into {} and {}",
        x.len(),
        values.len(),
        indices.len()
    );
    if k == 0 {
        return;
    }
    let (values, indices) = (Disjoint::new(values), Disjoint::new(indices));
    for_each_group(rows, n * 4, &|rows| {
        let mut packed = Vec::new();
        for row in rows {
            let x = &x[row * n..][..n];
            // SAFETY: each row is in one group, which runs once, and has its own range.
            let (values, indices) = unsafe { (values.range(row * k, k), indices.range(row * k, k)) };
            pack_row(x, largest, &mut packed);
            packed.select_nth_unstable(k - 1);
            packed[..k].sort_unstable();
            write_sorted(x, &packed[..k], values, indices);
        }
    });
}

/// The element of each row of `n` that has `k` elements before it in ascending order (`k` from 0), and its position.
///
/// ```
/// let (mut value, mut index) = ([0.0; 1], [0; 1]);
/// wengert_kernels::order::kth_value(&[5.0, 9.0, 1.0], 3, 1, &mut value, &mut index);
/// assert_eq!((value, index), ([5.0], [0]));
/// ```
pub fn kth_value<T: Sortable>(x: &[T], n: usize, k: usize, values: &mut [T], indices: &mut [i64]) {
    let rows = values.len();
    assert!(
        x.len() == rows * n && indices.len() == rows && (k < n || rows == 0),
        "kth_value: {k} of {} elements in {rows} rows of {n}",
        x.len()
    );
    let (values, indices) = (Disjoint::new(values), Disjoint::new(indices));
    for_each_group(rows, n * 4, &|rows| {
        let mut packed = Vec::new();
        for row in rows {
            let x = &x[row * n..][..n];
            pack_row(x, false, &mut packed);
            let (_, found, _) = packed.select_nth_unstable(k);
            // SAFETY: each row is in one group, which runs once, and has its own element.
            let (value, index) = unsafe { (values.range(row, 1), indices.range(row, 1)) };
            write_sorted(x, std::slice::from_ref(found), value, index);
        }
    });
}
