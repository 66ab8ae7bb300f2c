//! Elementwise work over tiles.
//!
//! The output is processed in fixed tiles of 1024 elements. Every input passes its part of a tile to the body as a contiguous slice: its
//! own memory where layout and dtype allow, else a scratch tile, which handles strides, broadcasting and dtype conversion in one way. So a
//! body is a plain loop over slices.

mod copy;
mod loops;
mod panel;
mod reader;
mod strided_part;

pub use copy::copy;
pub use loops::{loop1, loop1_in_place, loop2, loop2_in_place, loop3, loop3_in_place, loop4};
use panel::chunk_elements;
pub(crate) use reader::{Reader, Scratch, TILE, Walker, walk};
use reader::{direct_inputs, with_whole};
pub use strided_part::{StridedPart, add_part, assign_part};

use crate::dtype::{Compute, DType, Element};
use crate::threads::for_each_chunk;
use crate::view::{Out, View};

/// An element type that a [`map`](fn@map) body may write: a compute type, or `u8` for masks.
///
/// ```
/// use wengert_kernels::{DType, Stored};
/// assert!(f32::accepts(DType::BF16) && !f32::accepts(DType::F64));
/// assert!(u8::accepts(DType::Bool));
/// ```
pub trait Stored: Element {
    /// Whether tiles of this type can be stored to `dtype`.
    fn accepts(dtype: DType) -> bool;

    /// Converts `values` into the contiguous run `bytes` of an accepted dtype.
    fn store(values: &[Self], dtype: DType, bytes: &mut [u8]);
}

macro_rules! stored {
    ($($rust:ty),*) => { $(impl Stored for $rust {
        #[inline]
        fn accepts(dtype: DType) -> bool {
            dtype.compute() == <$rust>::DTYPE
        }

        fn store(values: &[Self], dtype: DType, bytes: &mut [u8]) {
            <$rust as Compute>::store(values, dtype, bytes);
        }
    })* };
}
stored!(f64, f32, i64);

impl Stored for u8 {
    #[inline]
    fn accepts(dtype: DType) -> bool {
        matches!(dtype, DType::U8 | DType::Bool)
    }

    fn store(values: &[u8], _: DType, bytes: &mut [u8]) {
        bytes.copy_from_slice(values);
    }
}

/// Calls `body` on every tile: slices of the inputs (all of the output's shape, as `T`) and of the output (as `U`).
///
/// The body must write every element of the output slice, and is called with slices of at most 1024 elements.
///
/// ```
/// use wengert_kernels::{DType, Out, View, loop2, map};
/// let (x, y) = ([1.0f32, 2.0, 3.0], [10.0f32]);
/// let x = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[3], strides: &[1] };
/// let y = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&y), offset: 0, shape: &[3], strides: &[0] };
/// let mut sum = [0.0f32; 3];
/// let out = Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut sum) };
/// map([x, y], out, &|[x, y]: [&[f32]; 2], sum: &mut [f32]| loop2(x, y, sum, |x, y| x + y));
/// assert_eq!(sum, [11.0, 12.0, 13.0]);
/// ```
pub fn map<T: Compute, U: Stored, const N: usize>(
    inputs: [View<'_>; N],
    out: Out<'_>,
    body: &(impl Fn([&[T]; N], &mut [U]) + Sync),
) {
    map_tiles(inputs, out, body);
}

/// `body` is a trait object: it is called once per tile, so one copy of this code serves every operation.
fn map_tiles<T: Compute, U: Stored, const N: usize>(
    inputs: [View<'_>; N],
    out: Out<'_>,
    body: &(dyn Fn([&[T]; N], &mut [U]) + Sync),
) {
    let Out { dtype, bytes } = out;
    assert!(U::accepts(dtype), "map: a body that writes {} cannot fill an output of {dtype}", U::DTYPE);
    let length = bytes.len() >> dtype.size().trailing_zeros();
    expect_shapes(&inputs, length, "map");
    if length > TILE {
        return map_many_tiles(inputs, dtype, bytes, length, body);
    }
    // Scalar-like programs consist of small tensors, so these use no readers, no parallel region and no large stack frame.
    if length > 0 {
        match (direct_inputs(&inputs), direct::<U>(dtype, bytes)) {
            (Some(inputs), Some(values)) => body(inputs, values),
            (None, Some(values)) => with_whole(&inputs, length, &mut |inputs| body(inputs, values)),
            (_, None) => with_whole(&inputs, length, &mut |inputs| {
                let mut values = Scratch::<U>::new();
                let values = values.slice(length);
                body(inputs, values);
                U::store(values, dtype, bytes);
            }),
        }
    }
}

fn map_many_tiles<T: Compute, U: Stored, const N: usize>(
    inputs: [View<'_>; N],
    dtype: DType,
    bytes: &mut [u8],
    length: usize,
    body: &(dyn Fn([&[T]; N], &mut [U]) + Sync),
) {
    let size = dtype.size();
    let readers = inputs.map(|input| Reader::<T>::new(input));
    let chunk = chunk_elements(&readers, length);
    for_each_chunk(bytes, chunk * size, &|index, bytes| {
        let start = index * chunk;
        match direct::<U>(dtype, bytes) {
            Some(values) => walk(&readers, start, values.len(), &mut |tile, inputs| {
                body(inputs, &mut values[tile]);
            }),
            None => {
                let mut scratch = Scratch::<U>::new();
                walk(&readers, start, bytes.len() / size, &mut |tile, inputs| {
                    let values = scratch.slice(tile.len());
                    body(inputs, values);
                    U::store(values, dtype, &mut bytes[tile.start * size..tile.end * size]);
                });
            }
        }
    });
}

/// The output itself as `U`, if no conversion is needed.
fn direct<U: Stored>(dtype: DType, bytes: &mut [u8]) -> Option<&mut [U]> {
    let same = dtype == U::DTYPE || (dtype == DType::Bool && U::DTYPE == DType::U8);
    if same { bytemuck::try_cast_slice_mut(bytes).ok() } else { None }
}

/// Calls `body` on every tile of `target` (row-major, of `shape`) with the same part of every input.
///
/// ```
/// use wengert_kernels::{DType, View, loop2_in_place, map_in_place};
/// let mut total = [1.0f64, 2.0];
/// let x = [0.5f32];
/// let x = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[2], strides: &[0] };
/// map_in_place(&mut total, &[2], [x], &|total: &mut [f64], [x]: [&[f64]; 1]| {
///     loop2_in_place(total, x, |t, x| t + x);
/// });
/// assert_eq!(total, [1.5, 2.5]);
/// ```
pub fn map_in_place<T: Compute, const N: usize>(
    target: &mut [T],
    shape: &[usize],
    inputs: [View<'_>; N],
    body: &(impl Fn(&mut [T], [&[T]; N]) + Sync),
) {
    assert_eq!(target.len(), shape.iter().product::<usize>(), "map_in_place: the target must have shape {shape:?}");
    update_tiles(target, inputs, body);
}

fn update_tiles<T: Compute, const N: usize>(
    target: &mut [T],
    inputs: [View<'_>; N],
    body: &(dyn Fn(&mut [T], [&[T]; N]) + Sync),
) {
    expect_shapes(&inputs, target.len(), "map_in_place");
    if target.len() <= TILE {
        return match direct_inputs(&inputs) {
            _ if target.is_empty() => {}
            Some(inputs) => body(target, inputs),
            None => with_whole(&inputs, target.len(), &mut |inputs| body(target, inputs)),
        };
    }
    let readers = inputs.map(|input| Reader::<T>::new(input));
    let chunk = chunk_elements(&readers, target.len());
    for_each_chunk(target, chunk, &|index, values| {
        walk(&readers, index * chunk, values.len(), &mut |tile, inputs| body(&mut values[tile], inputs));
    });
}

/// The engine checks shapes. A wrong element count would read out of bounds, so the counts are checked here too.
fn expect_shapes(inputs: &[View<'_>], length: usize, operation: &str) {
    for input in inputs {
        assert_eq!(input.len(), length, "{operation}: an input of shape {:?} for {length} outputs", input.shape);
    }
}

#[cfg(test)]
mod tests;
