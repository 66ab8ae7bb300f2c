//! Insertion points in sorted rows: `sorted[p - 1] < value <= sorted[p]` (left) or `sorted[p - 1] <= value < sorted[p]` (right).

use super::key::Sortable;
use crate::reduce::for_each_group;
use crate::threads::Disjoint;

/// For each of the `m` values of a row, the number of elements in the row of `sorted` that are below it or, with `right`, not above it.
/// `sorted` has rows of `n` elements in ascending order, one for each row of values or one for all.
///
/// ```
/// let mut places = [0; 3];
/// wengert_kernels::order::searchsorted(&[1.0, 3.0, 3.0], 3, &[0.0, 3.0, 9.0], 3, false, &mut places);
/// assert_eq!(places, [0, 1, 3]);
/// wengert_kernels::order::searchsorted(&[1.0, 3.0, 3.0], 3, &[0.0, 3.0, 9.0], 3, true, &mut places);
/// assert_eq!(places, [0, 3, 3]);
/// ```
pub fn searchsorted<T: Sortable>(sorted: &[T], n: usize, values: &[T], m: usize, right: bool, out: &mut [i64]) {
    let rows = values.len().checked_div(m).unwrap_or(0);
    assert!(
        values.len() == rows * m
            && out.len() == values.len()
            && (m == 0 || sorted.len() == n || sorted.len() == rows * n),
        "searchsorted: {} sorted in rows of {n}, {} values in rows of {m}, {} places",
        sorted.len(),
        values.len(),
        out.len()
    );
    let shared = sorted.len() == n;
    let out = Disjoint::new(out);
    for_each_group(values.len(), 1 + n.checked_ilog2().unwrap_or(0) as usize, &|range| {
        // SAFETY: groups are disjoint ranges, and each runs once.
        let out = unsafe { out.range(range.start, range.len()) };
        for (place, position) in out.iter_mut().zip(range) {
            let row = if shared { sorted } else { &sorted[position / m * n..][..n] };
            let key = values[position].key();
            let below = |x: &T| if right { x.key() <= key } else { x.key() < key };
            *place = row.partition_point(below) as i64;
        }
    });
}
