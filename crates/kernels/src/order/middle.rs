//! The lower of the middle elements of each row.

use super::key::{Sortable, pack_row};
use super::sort::write_sorted;
use crate::reduce::for_each_group;
use crate::threads::Disjoint;

/// The median of each row of `n`, the lower one of two middle elements, and its position.
///
/// A row with NaN gives its first NaN; with `skip_nan`, NaN is ignored unless there are only NaN.
///
/// ```
/// let (mut value, mut index) = ([0.0; 1], [0; 1]);
/// wengert_kernels::order::median(&[5.0, 9.0, 1.0, f64::NAN], 4, true, &mut value, &mut index);
/// assert_eq!((value, index), ([5.0], [0]));
/// wengert_kernels::order::median(&[5.0, 9.0, 1.0, f64::NAN], 4, false, &mut value, &mut index);
/// assert!(value[0].is_nan() && index == [3]);
/// ```
pub fn median<T: Sortable>(x: &[T], n: usize, skip_nan: bool, values: &mut [T], indices: &mut [i64]) {
    let rows = values.len();
    assert!(
        x.len() == rows * n && indices.len() == rows && (n > 0 || rows == 0),
        "median: {} elements in {rows} rows of {n}",
        x.len()
    );
    let (values, indices) = (Disjoint::new(values), Disjoint::new(indices));
    for_each_group(rows, n * 4, &|rows| {
        let mut packed = Vec::new();
        for row in rows {
            let x = &x[row * n..][..n];
            pack_row(x, false, &mut packed);
            #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
            let numbers = x.iter().filter(|&&x| x == x).count();
            // NaN is greatest: the other elements come first, followed by the first NaN.
            let middle = match (skip_nan, numbers) {
                (_, numbers) if numbers == n => (n - 1) / 2,
                (false, numbers) => numbers,
                (true, numbers) => numbers.saturating_sub(1) / 2,
            };
            let (_, found, _) = packed.select_nth_unstable(middle);
            // SAFETY: each row is in one group, which runs once, and has its own element.
            let (value, index) = unsafe { (values.range(row, 1), indices.range(row, 1)) };
            write_sorted(x, std::slice::from_ref(found), value, index);
        }
    });
}
