//! The most frequent element of each row.

use super::key::{Sortable, pack_row};
use super::sort::{SORTING, write_sorted};
use crate::reduce::for_each_group;
use crate::threads::Disjoint;

/// The most frequent element in each row of `n`, the smallest among ties, and its first position.
///
/// ```
/// let (mut value, mut index) = ([0; 1], [0; 1]);
/// wengert_kernels::order::mode(&[7i64, 9, 3, 9, 7], 5, &mut value, &mut index);
/// assert_eq!((value, index), ([7], [0]));
/// ```
pub fn mode<T: Sortable>(x: &[T], n: usize, values: &mut [T], indices: &mut [i64]) {
    let rows = values.len();
    assert!(
        x.len() == rows * n && indices.len() == rows && (n > 0 || rows == 0),
        "mode: {} elements in {rows} rows of {n}",
        x.len()
    );
    let (values, indices) = (Disjoint::new(values), Disjoint::new(indices));
    for_each_group(rows, n * SORTING, &|rows| {
        let mut packed = Vec::new();
        for row in rows {
            let x = &x[row * n..][..n];
            pack_row(x, false, &mut packed);
            packed.sort_unstable();
            let (mut best, mut longest, mut first) = (0, 0, 0);
            for i in 0..n {
                if x[T::position(packed[i])].key() != x[T::position(packed[first])].key() {
                    first = i;
                }
                if i + 1 - first > longest {
                    (best, longest) = (first, i + 1 - first);
                }
            }
            // SAFETY: each row is in one group, which runs once, and has its own element.
            let (value, index) = unsafe { (values.range(row, 1), indices.range(row, 1)) };
            write_sorted(x, &packed[best..=best], value, index);
        }
    });
}
