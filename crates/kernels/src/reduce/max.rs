//! `values[k] = max over one axis of x`, or the minimum, and its index.
//!
//! The first index wins among equals (0.0 and -0.0 are equal); a NaN beats every number, and the first NaN wins. One implementation serves
//! both: `LEAST` selects the direction of the comparison.

use super::arrange::{Arrangement, for_each_group};
use crate::dtype::{Compute, DType};
use crate::map::{Reader, Scratch, TILE};
use crate::simd::vectorised;
use crate::threads::{Disjoint, REGION_TILE, for_each_chunk};
use crate::view::{Out, View};

/// The maximum along `axis` and its index there; both outputs have the remaining axes in order.
///
/// The axis must not be empty.
///
/// ```
/// use wengert_kernels::{DType, Out, View, reduce};
/// let x = [1.0f32, 5.0, 5.0, 4.0, f32::NAN, 6.0];
/// let x = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[2, 3], strides: &[3, 1] };
/// let (mut values, mut indices) = ([0.0f32; 2], [0; 2]);
/// reduce::max(x, 1, Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut values) }, &mut indices);
/// assert_eq!(indices, [1, 1]);
/// assert!(values[0] == 5.0 && values[1].is_nan());
/// ```
pub fn max(input: View<'_>, axis: usize, values: Out<'_>, indices: &mut [i64]) {
    extreme::<false>(input, axis, values, indices);
}

/// The minimum along `axis` and its index there; ties and NaN as in [`max`].
///
/// ```
/// use wengert_kernels::{DType, Out, View, reduce};
/// let x = [3i64, 1, 1];
/// let x = View { dtype: DType::I64, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[3], strides: &[1] };
/// let (mut value, mut index) = ([0i64], [0]);
/// reduce::min(x, 0, Out { dtype: DType::I64, bytes: bytemuck::bytes_of_mut(&mut value) }, &mut index);
/// assert_eq!((value, index), ([1], [1]));
/// ```
pub fn min(input: View<'_>, axis: usize, values: Out<'_>, indices: &mut [i64]) {
    extreme::<true>(input, axis, values, indices);
}

fn extreme<const LEAST: bool>(input: View<'_>, axis: usize, values: Out<'_>, indices: &mut [i64]) {
    let name = if LEAST { "min" } else { "max" };
    assert!(axis < input.shape.len(), "{name}: axis {axis} of shape {:?}", input.shape);
    let outputs = input.shape.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &size)| size).product();
    values.expect_length(outputs, name);
    assert_eq!(indices.len(), outputs, "{name}: one index per output");
    if outputs == 0 {
        return;
    }
    assert!(input.shape[axis] > 0, "{name}: axis {axis} of shape {:?} is empty", input.shape);
    match input.dtype.compute() {
        DType::F64 => extreme_as::<f64, LEAST>(input, axis, values, indices),
        DType::F32 => extreme_as::<f32, LEAST>(input, axis, values, indices),
        _ => extreme_as::<i64, LEAST>(input, axis, values, indices),
    }
}

fn extreme_as<T: Compute, const LEAST: bool>(input: View<'_>, axis: usize, values: Out<'_>, indices: &mut [i64]) {
    let arrangement = Arrangement::new(&input, |i| i == axis);
    let reader = Reader::<T>::new(arrangement.view(&input));
    let Arrangement { outer, length, inner, .. } = arrangement;
    let Out { dtype, bytes } = values;
    let size = dtype.size();
    if inner == 1 && length > REGION_TILE {
        for (o, (bytes, index)) in bytes.chunks_exact_mut(size).zip(indices).enumerate() {
            let (value, position) = extreme_of_long_row::<T, LEAST>(&reader, o * length, length);
            T::store(&[value], dtype, bytes);
            *index = position;
        }
        return;
    }
    let (bytes, indices) = (Disjoint::new(bytes), Disjoint::new(indices));
    let blocks = inner.div_ceil(TILE);
    for_each_group(outer * blocks, length * inner.min(TILE), &|tasks| {
        let mut scratch = Scratch::new();
        let mut best = Scratch::new();
        for task in tasks {
            let (o, first) = (task / blocks, task % blocks * TILE);
            let count = TILE.min(inner - first);
            let output = o * inner + first;
            // SAFETY: a task is one block of columns of one matrix, and runs once. No other task has these outputs.
            let (indices, bytes) = unsafe { (indices.range(output, count), bytes.range(output * size, count * size)) };
            let best = best.slice(count);
            if inner == 1 {
                (best[0], indices[0]) = extreme_of_row::<T, LEAST>(&reader, o * length, length, &mut scratch);
            } else {
                extreme_of_columns::<T, LEAST>(
                    &reader,
                    o * length * inner + first,
                    (length, inner),
                    best,
                    indices,
                    &mut scratch,
                );
            }
            T::store(best, dtype, bytes);
        }
    });
}

#[allow(clippy::eq_op)]
#[inline(always)]
fn is_nan<T: Compute>(value: T) -> bool {
    value != value
}

/// Selects the extreme, as an argument: vectorised functions cannot be given a constant alone.
struct Way<const LEAST: bool>;

#[inline(always)]
fn is_beyond<T: Compute, const LEAST: bool>(value: T, best: T) -> bool {
    if LEAST { value < best } else { value > best }
}

/// Whether a later `value` replaces `best`.
#[inline(always)]
fn beats<T: Compute, const LEAST: bool>(value: T, best: T) -> bool {
    is_beyond::<T, LEAST>(value, best) || (is_nan(value) && !is_nan(best))
}

fn extreme_of_row<T: Compute, const LEAST: bool>(
    reader: &Reader<'_, T>,
    start: usize,
    length: usize,
    scratch: &mut Scratch<T>,
) -> (T, i64) {
    let step = if reader.is_direct() { length } else { TILE };
    let mut found: Option<(T, i64)> = None;
    for begin in (0..length).step_by(step) {
        let tile = reader.tile(start + begin, step.min(length - begin), scratch);
        let index = arg_extreme(Way::<LEAST>, tile);
        let value = tile[index];
        if found.is_none_or(|(best, _)| beats::<T, LEAST>(value, best)) {
            found = Some((value, (begin + index) as i64));
        }
    }
    found.expect("the axis is not empty")
}

/// The row is cut into parts of one region tile each; an earlier part wins among equals.
fn extreme_of_long_row<T: Compute, const LEAST: bool>(reader: &Reader<'_, T>, start: usize, length: usize) -> (T, i64) {
    let mut parts = vec![(T::ZERO, 0); length.div_ceil(REGION_TILE)];
    for_each_chunk(&mut parts, 1, &|index, part| {
        let begin = index * REGION_TILE;
        let count = REGION_TILE.min(length - begin);
        let (value, position) = extreme_of_row::<T, LEAST>(reader, start + begin, count, &mut Scratch::new());
        part[0] = (value, begin as i64 + position);
    });
    parts
        .into_iter()
        .reduce(|best, part| if beats::<T, LEAST>(part.0, best.0) { part } else { best })
        .expect("the axis is not empty")
}

const LANES: usize = 32;

vectorised! {
    /// Finds the extreme value in lanes first, and then the first index where it occurs.
    fn arg_extreme[T: Compute, const LEAST: bool](_way: Way<LEAST>, values: &[T]) -> usize {
        let mut lanes = [values[0]; LANES];
        let mut nan = false;
        let (chunks, tail) = values.as_chunks::<LANES>();
        for chunk in chunks {
            let mut odd = false;
            for (lane, &value) in lanes.iter_mut().zip(chunk) {
                *lane = if is_beyond::<T, LEAST>(value, *lane) { value } else { *lane };
                odd |= is_nan(value);
            }
            nan |= odd;
        }
        for (lane, &value) in lanes.iter_mut().zip(tail) {
            *lane = if is_beyond::<T, LEAST>(value, *lane) { value } else { *lane };
            nan |= is_nan(value);
        }
        let best = lanes.iter().fold(lanes[0], |best, &lane| if is_beyond::<T, LEAST>(lane, best) { lane } else { best });
        let wanted = |value: &T| if nan { is_nan(*value) } else { *value == best };
        let near = values
            .chunks(LANES)
            .position(|chunk| chunk.iter().fold(false, |any, value| any | wanted(value)))
            .unwrap_or(0)
            * LANES;
        near + values[near..].iter().position(wanted).unwrap_or(0)
    }
}

vectorised! {
    fn update[T: Compute, const LEAST: bool](_way: Way<LEAST>, best: &mut [T], indices: &mut [i64], row: &[T], position: i64) {
        for ((best, index), &value) in best.iter_mut().zip(indices).zip(row) {
            let wins = beats::<T, LEAST>(value, *best);
            *best = if wins { value } else { *best };
            *index = if wins { position } else { *index };
        }
    }
}

fn extreme_of_columns<T: Compute, const LEAST: bool>(
    reader: &Reader<'_, T>,
    start: usize,
    (length, inner): (usize, usize),
    best: &mut [T],
    indices: &mut [i64],
    scratch: &mut Scratch<T>,
) {
    best.copy_from_slice(reader.tile(start, best.len(), scratch));
    indices.fill(0);
    for position in 1..length {
        let row = reader.tile(start + position * inner, best.len(), scratch);
        update(Way::<LEAST>, best, indices, row, position as i64);
    }
}
