//! Reductions along the middle axis of contiguous arrays `[outer, n, inner]`: `max`, `min` and their indices, products (also of all
//! elements but one), `any` and `all`.
//!
//! NaN beats every number, and the first index wins ties, as in [`reduce::max`](crate::reduce::max()).

mod others;
mod product;
mod truth;

pub use others::product_of_others;
pub use product::prod;
pub use truth::{all, any};

use crate::dtype::Compute;
use crate::reduce;
use crate::view::{Out, View};

type Extreme = fn(View<'_>, usize, Out<'_>, &mut [i64]);

fn extreme<T: Compute>(x: &[T], shape: [usize; 3], values: &mut [T], indices: &mut [i64], reduce: Extreme) {
    let [_, n, inner] = shape;
    let strides = [(n * inner) as isize, inner as isize, 1];
    assert_eq!(x.len(), shape.iter().product(), "extremes: {} elements for shape {shape:?}", x.len());
    let view = View { dtype: T::DTYPE, bytes: bytemuck::cast_slice(x), offset: 0, shape: &shape, strides: &strides };
    reduce(view, 1, Out { dtype: T::DTYPE, bytes: bytemuck::cast_slice_mut(values) }, indices);
}

/// The largest element along the middle axis and its index. The axis must not be empty.
///
/// ```
/// let (mut values, mut indices) = ([0.0; 2], [0; 2]);
/// wengert_kernels::extremes::max(&[1.0, 5.0, 3.0, 5.0], [1, 2, 2], &mut values, &mut indices);
/// assert_eq!((values, indices), ([3.0, 5.0], [1, 0]));
/// ```
pub fn max<T: Compute>(x: &[T], shape: [usize; 3], values: &mut [T], indices: &mut [i64]) {
    extreme(x, shape, values, indices, reduce::max);
}

/// The least element along the middle axis and its index. The axis must not be empty.
///
/// ```
/// let (mut values, mut indices) = ([0; 1], [0; 1]);
/// wengert_kernels::extremes::min(&[4i64, 2, 3], [1, 3, 1], &mut values, &mut indices);
/// assert_eq!((values, indices), ([2], [1]));
/// ```
pub fn min<T: Compute>(x: &[T], shape: [usize; 3], values: &mut [T], indices: &mut [i64]) {
    extreme(x, shape, values, indices, reduce::min);
}

/// The index of the largest element along the middle axis.
///
/// ```
/// let mut indices = [0; 1];
/// wengert_kernels::extremes::argmax(&[4.0f32, f32::NAN, 9.0], [1, 3, 1], &mut indices);
/// assert_eq!(indices, [1]);
/// ```
pub fn argmax<T: Compute>(x: &[T], shape: [usize; 3], indices: &mut [i64]) {
    max(x, shape, &mut vec![T::ZERO; indices.len()], indices);
}

/// The index of the least element along the middle axis.
///
/// ```
/// let mut indices = [0; 1];
/// wengert_kernels::extremes::argmin(&[4.0, 1.0, 9.0], [1, 3, 1], &mut indices);
/// assert_eq!(indices, [1]);
/// ```
pub fn argmin<T: Compute>(x: &[T], shape: [usize; 3], indices: &mut [i64]) {
    min(x, shape, &mut vec![T::ZERO; indices.len()], indices);
}

#[cfg(test)]
mod tests;
