//! Running reductions along an axis: `out[t] = x[0] * x[1] * .. * x[t]` for an associative operation `*`.
//!
//! Arrays are contiguous `[outer, n, inner]` and the middle axis is scanned. An operation is a monoid (`Monoid`). Columns (`inner > 1`) are
//! scanned side by side; long rows are cut into fixed parts, whose totals are combined first.

mod monoid;
mod recurrence;
mod walk;

pub use monoid::Accumulate;
pub use recurrence::linear_scan;

use crate::dtype::Compute;
use crate::rows::Float;
use monoid::{Extreme, LogSumExp, Product, Sum};
use walk::scan;

/// `out[t] = x[0] + .. + x[t]` along the middle axis of `[outer, n, inner]`, or from the end when `reverse`.
///
/// The reverse sum is the transpose of the forward sum. `f32` is summed in `f64`; integers wrap around.
///
/// ```
/// let mut y = [0; 3];
/// wengert_kernels::scan::cumsum(&[1i64, 2, 3], [1, 3, 1], false, &mut y);
/// assert_eq!(y, [1, 3, 6]);
/// wengert_kernels::scan::cumsum(&[1i64, 2, 3], [1, 3, 1], true, &mut y);
/// assert_eq!(y, [6, 5, 3]);
/// ```
pub fn cumsum<T: Accumulate>(x: &[T], shape: [usize; 3], reverse: bool, out: &mut [T]) {
    scan::<T, Sum>(x, shape, reverse, out, &mut []);
}

/// `out[t] = x[0] * .. * x[t]` along the middle axis of `[outer, n, inner]`, or from the end when `reverse`.
///
/// ```
/// let mut y = [0.0; 4];
/// wengert_kernels::scan::cumprod(&[2.0, 3.0, 5.0, 7.0], [1, 2, 2], false, &mut y);
/// assert_eq!(y, [2.0, 3.0, 10.0, 21.0]);
/// ```
pub fn cumprod<T: Accumulate>(x: &[T], shape: [usize; 3], reverse: bool, out: &mut [T]) {
    scan::<T, Product>(x, shape, reverse, out, &mut []);
}

/// `out[t] = ln(e^x[0] + .. + e^x[t])` along the middle axis of `[outer, n, inner]`, or from the end when `reverse`.
///
/// ```
/// let mut y = [0.0; 2];
/// wengert_kernels::scan::logcumsumexp(&[f64::NEG_INFINITY, 1.0], [1, 2, 1], false, &mut y);
/// assert_eq!(y, [f64::NEG_INFINITY, 1.0]);
/// ```
pub fn logcumsumexp<T: Float>(x: &[T], shape: [usize; 3], reverse: bool, out: &mut [T]) {
    scan::<T, LogSumExp>(x, shape, reverse, out, &mut []);
}

/// The largest of `x[0..=t]` and its index along the middle axis of `[outer, n, inner]`.
///
/// The last index among equals wins, and NaN beats every number, as in PyTorch.
///
/// ```
/// let (mut values, mut indices) = ([0.0; 4], [0; 4]);
/// wengert_kernels::scan::cummax(&[1.0, 3.0, 2.0, 3.0], [1, 4, 1], &mut values, &mut indices);
/// assert_eq!((values, indices), ([1.0, 3.0, 3.0, 3.0], [0, 1, 1, 3]));
/// ```
pub fn cummax<T: Compute>(x: &[T], shape: [usize; 3], values: &mut [T], indices: &mut [i64]) {
    assert_eq!(indices.len(), x.len(), "cummax: one index for each element");
    scan::<T, Extreme<false>>(x, shape, false, values, indices);
}

/// The smallest of `x[0..=t]` and its index along the middle axis of `[outer, n, inner]`; ties and NaN as in [`cummax`].
///
/// ```
/// let (mut values, mut indices) = ([0; 3], [0; 3]);
/// wengert_kernels::scan::cummin(&[5i64, 3, 4], [1, 3, 1], &mut values, &mut indices);
/// assert_eq!((values, indices), ([5, 3, 3], [0, 1, 1]));
/// ```
pub fn cummin<T: Compute>(x: &[T], shape: [usize; 3], values: &mut [T], indices: &mut [i64]) {
    assert_eq!(indices.len(), x.len(), "cummin: one index for each element");
    scan::<T, Extreme<true>>(x, shape, false, values, indices);
}

#[cfg(test)]
mod tests;
