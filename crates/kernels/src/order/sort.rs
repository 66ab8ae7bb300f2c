//! `values = x[indices]`, sorted along rows; equal elements keep their order.

use super::key::{Sortable, pack_row};
use crate::reduce::for_each_group;
use crate::threads::Disjoint;

/// The cost of sorting an element relative to a plain elementwise operation, when deciding whether to use threads.
pub(super) const SORTING: usize = 16;

/// Sorts each row of `n` elements stably, and returns the positions that the elements came from. NaN is greatest.
///
/// ```
/// let (mut values, mut indices) = ([0.0; 4], [0; 4]);
/// wengert_kernels::order::sort(&[2.0, f64::NAN, 1.0, 2.0], 4, false, &mut values, &mut indices);
/// assert_eq!(indices, [2, 0, 3, 1]);
/// assert_eq!(values[..3], [1.0, 2.0, 2.0]);
/// ```
pub fn sort<T: Sortable>(x: &[T], n: usize, descending: bool, values: &mut [T], indices: &mut [i64]) {
    assert!(
        x.len() == values.len() && x.len() == indices.len() && x.len().is_multiple_of(n.max(1)),
        "sort: {} elements in rows of {n} into {} and {}",
        x.len(),
        values.len(),
        indices.len()
    );
    if x.is_empty() {
        return;
    }
    let (values, indices) = (Disjoint::new(values), Disjoint::new(indices));
    for_each_group(x.len() / n, n * SORTING, &|rows| {
        let mut packed = Vec::new();
        for row in rows {
            let x = &x[row * n..][..n];
            // SAFETY: each row is in one group, which runs once, and has its own range.
            let (values, indices) = unsafe { (values.range(row * n, n), indices.range(row * n, n)) };
            pack_row(x, descending, &mut packed);
            packed.sort_unstable();
            write_sorted(x, &packed, values, indices);
        }
    });
}

/// Writes the elements and positions of packed keys.
pub(super) fn write_sorted<T: Sortable>(x: &[T], packed: &[T::Packed], values: &mut [T], indices: &mut [i64]) {
    for ((&packed, value), index) in packed.iter().zip(values).zip(indices) {
        let position = T::position(packed);
        (*value, *index) = (x[position], position as i64);
    }
}
