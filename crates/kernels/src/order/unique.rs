//! The distinct elements, sorted: `x[i] = values[inverse[i]]`, and `counts[j]` elements equal `values[j]`.

use super::key::{Sortable, pack_row};

/// The result of [`unique`].
///
/// ```
/// let found = wengert_kernels::order::unique(&[3i64, 1, 3]);
/// assert_eq!(found.counts.iter().sum::<i64>(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unique<T> {
    /// The distinct elements in ascending order.
    pub values: Vec<T>,
    /// For each element of the input, the position of its value.
    pub inverse: Vec<i64>,
    /// For each value, the number of times it occurs.
    pub counts: Vec<i64>,
}

/// The distinct elements of `x`. NaN differs from NaN, so each one is listed; -0 and 0 are equal, and the first one to occur is listed.
///
/// ```
/// let found = wengert_kernels::order::unique(&[3.0, 1.0, 3.0]);
/// assert_eq!((found.values, found.inverse, found.counts), (vec![1.0, 3.0], vec![1, 0, 1], vec![1, 2]));
/// ```
pub fn unique<T: Sortable>(x: &[T]) -> Unique<T> {
    let mut packed = Vec::new();
    pack_row(x, false, &mut packed);
    packed.sort_unstable();
    let mut found = Unique { values: Vec::new(), inverse: vec![0; x.len()], counts: Vec::new() };
    for packed in packed {
        let position = T::position(packed);
        let value = x[position];
        match found.counts.last_mut() {
            Some(count) if found.values.last() == Some(&value) => *count += 1,
            _ => {
                found.values.push(value);
                found.counts.push(1);
            }
        }
        found.inverse[position] = found.values.len() as i64 - 1;
    }
    found
}
