//! `out[k] = sum over the reduced axes of x`.
//!
//! `f32`, `bf16` and `f16` are summed in `f64` and rounded once; `f64` is summed in fixed lanes and fixed partial sums; integers wrap
//! around. An empty sum is 0.

use super::arrange::{Arrangement, for_each_group};
use crate::dtype::{Compute, DType};
use crate::map::{Reader, Scratch, TILE};
use crate::pool::Buffer;
use crate::simd::vectorised;
use crate::threads::{Disjoint, REGION_TILE, for_each_chunk, for_each_tile};
use crate::view::{Out, View};

/// A compute type together with its accumulator type.
pub(crate) trait Summand: Compute {
    type Total: Compute;
    fn widen(self) -> Self::Total;
    fn narrow(total: Self::Total) -> Self;
}

macro_rules! summand {
    ($($rust:ty => $total:ty),*) => { $(impl Summand for $rust {
        type Total = $total;

        #[inline(always)]
        fn widen(self) -> $total {
            self as $total
        }

        #[inline(always)]
        fn narrow(total: $total) -> Self {
            total as $rust
        }
    })* };
}
summand!(f64 => f64, f32 => f64, i64 => i64);

/// Sums over the axes where `reduced` is true; `out` has the remaining axes in order. Computes in `input.dtype.compute()`.
///
/// ```
/// use wengert_kernels::{DType, Out, View, reduce};
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let x = View { dtype: DType::F32, bytes: bytemuck::bytes_of(&x), offset: 0, shape: &[2, 3], strides: &[3, 1] };
/// let mut rows = [0.0f32; 2];
/// reduce::sum(x, &[false, true], Out { dtype: DType::F32, bytes: bytemuck::bytes_of_mut(&mut rows) });
/// assert_eq!(rows, [6.0, 15.0]);
/// ```
pub fn sum(input: View<'_>, reduced: &[bool], out: Out<'_>) {
    assert_eq!(reduced.len(), input.shape.len(), "sum: one flag per axis of shape {:?}", input.shape);
    let kept = input.shape.iter().zip(reduced).filter(|&(_, &reduced)| !reduced).map(|(&size, _)| size);
    out.expect_length(kept.product(), "sum");
    if input.is_empty() {
        out.bytes.fill(0);
        return;
    }
    match input.dtype.compute() {
        DType::F64 => sum_as::<f64>(input, reduced, out),
        DType::F32 => sum_as::<f32>(input, reduced, out),
        _ => sum_as::<i64>(input, reduced, out),
    }
}

fn sum_as<T: Summand>(input: View<'_>, reduced: &[bool], out: Out<'_>) {
    if let Some(values) = input.direct::<T>()
        && values.len() <= REGION_TILE
        && out.bytes.len() == out.dtype.size()
    {
        return T::store(&[T::narrow(sum_run(values))], out.dtype, out.bytes);
    }
    let arrangement = Arrangement::new(&input, |axis| reduced[axis]);
    let reader = Reader::<T>::new(arrangement.view(&input));
    let Arrangement { outer, length, inner, .. } = arrangement;
    if inner > 1 && length <= FEW && inner <= FEW {
        sum_small(&reader, outer, length, inner, out);
    } else if inner > 1 {
        let blocks = outer * inner.div_ceil(TILE);
        let rows = (4 * REGION_TILE / inner.min(TILE)).max(64);
        if blocks >= 32 || length <= rows {
            sum_wide(&reader, outer, length, inner, out);
        } else {
            sum_tall(&reader, outer, length, inner, rows, out);
        }
    } else if length <= REGION_TILE {
        sum_rows(&reader, outer, length, out);
    } else {
        sum_long_rows(&reader, outer, length, out);
    }
}

const LANES: usize = 32;

/// Lane `l` adds the elements `l, l + 32, ..`; then the lanes are added in halves.
#[inline(always)]
fn sum_lanes<T: Summand>(values: &[T]) -> T::Total {
    if values.len() < LANES {
        return values.iter().fold(T::Total::ZERO, |total, &value| total.wrapping_plus(value.widen()));
    }
    let mut lanes = [T::Total::ZERO; LANES];
    let (chunks, tail) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = lane.wrapping_plus(value.widen());
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(tail) {
        *lane = lane.wrapping_plus(value.widen());
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = lanes[i].wrapping_plus(lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

vectorised! {
    pub(crate) fn sum_run[T: Summand](values: &[T]) -> T::Total {
        sum_lanes(values)
    }
}

vectorised! {
    /// The sum of each row of `length` elements.
    pub(crate) fn sum_each_row[T: Summand](values: &[T], length: usize, results: &mut [T]) {
        for (result, row) in results.iter_mut().zip(values.chunks_exact(length)) {
            *result = T::narrow(sum_lanes(row));
        }
    }
}

vectorised! {
    /// Adds each row of `rows` (`totals.len()` elements each, perhaps fewer in the last) to `totals`.
    pub(crate) fn add_rows[T: Summand](totals: &mut [T::Total], rows: &[T]) {
        for row in rows.chunks(totals.len()) {
            for (total, &value) in totals.iter_mut().zip(row) {
                *total = total.wrapping_plus(value.widen());
            }
        }
    }
}

/// The sum of elements `start..start + length` in row-major order.
fn sum_range<T: Summand>(reader: &Reader<'_, T>, start: usize, length: usize, scratch: &mut Scratch<T>) -> T::Total {
    if reader.is_direct() {
        return sum_run(reader.tile(start, length, scratch));
    }
    let mut total = T::Total::ZERO;
    for begin in (0..length).step_by(TILE) {
        let tile = reader.tile(start + begin, TILE.min(length - begin), scratch);
        total = total.wrapping_plus(sum_run(tile));
    }
    total
}

/// Each output sums its own run, of at most one region tile.
fn sum_rows<T: Summand>(reader: &Reader<'_, T>, outer: usize, length: usize, out: Out<'_>) {
    let Out { dtype, bytes } = out;
    let size = dtype.size();
    let bytes = Disjoint::new(bytes);
    let group = (TILE / length).max(1);
    for_each_group(outer, length, &|rows| {
        let mut scratch = Scratch::new();
        let mut results = Scratch::new();
        for first in rows.clone().step_by(group) {
            let count = group.min(rows.end - first);
            let results = results.slice(count);
            if count == 1 {
                results[0] = T::narrow(sum_range(reader, first * length, length, &mut scratch));
            } else {
                let tile = reader.tile(first * length, count * length, &mut scratch);
                sum_each_row(tile, length, results);
            }
            // SAFETY: groups are disjoint ranges of outputs, and each runs once.
            T::store(results, dtype, unsafe { bytes.range(first * size, count * size) });
        }
    });
}

/// Rows are cut into region tiles whose sums are added in order.
fn sum_long_rows<T: Summand>(reader: &Reader<'_, T>, outer: usize, length: usize, out: Out<'_>) {
    let parts = length.div_ceil(REGION_TILE);
    let mut totals = Buffer::<T::Total>::new(outer * parts);
    for_each_chunk(&mut totals, 1, &|index, total| {
        let (row, begin) = (index / parts, index % parts * REGION_TILE);
        let count = REGION_TILE.min(length - begin);
        total[0] = sum_range(reader, row * length + begin, count, &mut Scratch::new());
    });
    let size = out.dtype.size();
    for (parts, bytes) in totals.chunks_exact(parts).zip(out.bytes.chunks_exact_mut(size)) {
        let total = parts.iter().fold(T::Total::ZERO, |total, &part| total.wrapping_plus(part));
        T::store(&[T::narrow(total)], out.dtype, bytes);
    }
}

/// Up to this many rows and columns, several matrices share a tile.
const FEW: usize = 16;

/// Column sums of small matrices, whose sums cost less than locating each matrix.
fn sum_small<T: Summand>(reader: &Reader<'_, T>, outer: usize, length: usize, inner: usize, out: Out<'_>) {
    let Out { dtype, bytes } = out;
    let size = dtype.size();
    let bytes = Disjoint::new(bytes);
    let (each, group) = (length * inner, TILE / (length * inner));
    for_each_group(outer, each, &|matrices| {
        let (mut scratch, mut results) = (Scratch::new(), Scratch::new());
        for first in matrices.clone().step_by(group) {
            let count = group.min(matrices.end - first);
            let results = results.slice(count * inner);
            add_columns(reader.tile(first * each, count * each, &mut scratch), length, inner, results);
            // SAFETY: groups are disjoint ranges of outputs, and each runs once.
            T::store(results, dtype, unsafe { bytes.range(first * inner * size, count * inner * size) });
        }
    });
}

vectorised! {
    /// The column sums of each matrix of `length` rows of `inner` elements.
    fn add_columns[T: Summand](values: &[T], length: usize, inner: usize, results: &mut [T]) {
        for (matrix, results) in values.chunks_exact(length * inner).zip(results.chunks_exact_mut(inner)) {
            for (column, result) in results.iter_mut().enumerate() {
                let mut total = T::Total::ZERO;
                for &value in matrix[column..].iter().step_by(inner) {
                    total = total.wrapping_plus(value.widen());
                }
                *result = T::narrow(total);
            }
        }
    }
}

/// The totals of narrow rows, with several rows side by side.
const WIDE: usize = 64;

/// Adds rows `rows` of columns `first..first + totals.len()` of matrix `o`.
fn add_block<T: Summand>(
    reader: &Reader<'_, T>,
    (length, inner): (usize, usize),
    o: usize,
    rows: std::ops::Range<usize>,
    first: usize,
    totals: &mut [T::Total],
) {
    let mut scratch = Scratch::new();
    let start = |row: usize| (o * length + row) * inner + first;
    if inner > WIDE / 2 {
        let group = if totals.len() == inner { (TILE / inner).max(1) } else { 1 };
        for row in rows.clone().step_by(group) {
            let count = group.min(rows.end - row);
            add_rows(totals, reader.tile(start(row), (count - 1) * inner + totals.len(), &mut scratch));
        }
        return;
    }
    let mut lanes = [T::Total::ZERO; WIDE];
    let side_by_side = WIDE / inner;
    let lanes = &mut lanes[..side_by_side * inner];
    let group = TILE / inner / side_by_side * side_by_side;
    for row in rows.clone().step_by(group) {
        let count = group.min(rows.end - row);
        add_rows(lanes, reader.tile(start(row), count * inner, &mut scratch));
    }
    for part in lanes.chunks_exact(inner) {
        for (total, &lane) in totals.iter_mut().zip(part) {
            *total = total.wrapping_plus(lane);
        }
    }
}

fn store_totals<T: Summand>(totals: &[T::Total], dtype: DType, bytes: &mut [u8]) {
    let mut results = Scratch::<T>::new();
    let results = results.slice(totals.len());
    for (result, &total) in results.iter_mut().zip(totals) {
        *result = T::narrow(total);
    }
    T::store(results, dtype, bytes);
}

/// Many column blocks or few rows: each block of at most [`TILE`] columns sums all its rows.
fn sum_wide<T: Summand>(reader: &Reader<'_, T>, outer: usize, length: usize, inner: usize, out: Out<'_>) {
    let Out { dtype, bytes } = out;
    let size = dtype.size();
    let bytes = Disjoint::new(bytes);
    let blocks = inner.div_ceil(TILE);
    for_each_group(outer * blocks, length * inner.min(TILE), &|tasks| {
        let mut totals = [T::Total::ZERO; TILE];
        for task in tasks {
            let (o, first) = (task / blocks, task % blocks * TILE);
            let totals = &mut totals[..TILE.min(inner - first)];
            totals.fill(T::Total::ZERO);
            add_block(reader, (length, inner), o, 0..length, first, totals);
            // SAFETY: a task is one block of columns of one matrix, and runs once. No other task has these outputs.
            let bytes = unsafe { bytes.range((o * inner + first) * size, totals.len() * size) };
            store_totals::<T>(totals, dtype, bytes);
        }
    });
}

/// Few columns and many rows: parts of `rows` rows are summed separately, then added in order.
fn sum_tall<T: Summand>(reader: &Reader<'_, T>, outer: usize, length: usize, inner: usize, rows: usize, out: Out<'_>) {
    let parts = length.div_ceil(rows);
    let blocks = inner.div_ceil(TILE);
    let width = inner.min(TILE);
    let mut totals = Buffer::<T::Total>::zeros(outer * blocks * parts * width);
    for_each_chunk(&mut totals, width, &|index, totals| {
        let (task, part) = (index / parts, index % parts);
        let (o, first) = (task / blocks, task % blocks * TILE);
        let count = TILE.min(inner - first);
        let range = part * rows..((part + 1) * rows).min(length);
        add_block(reader, (length, inner), o, range, first, &mut totals[..count]);
    });
    let size = out.dtype.size();
    let bytes = Disjoint::new(out.bytes);
    let totals = Disjoint::new(&mut totals);
    for_each_tile(outer * blocks, &|task| {
        let (o, first) = (task / blocks, task % blocks * TILE);
        let count = TILE.min(inner - first);
        // SAFETY: a task is one block of columns of one matrix, and runs once. No other task has its totals and outputs.
        let (totals, bytes) = unsafe {
            (totals.range(task * parts * width, parts * width), bytes.range((o * inner + first) * size, count * size))
        };
        let (sums, others) = totals.split_at_mut(width);
        for part in others.chunks_exact(width) {
            for (sum, &part) in sums.iter_mut().zip(part) {
                *sum = sum.wrapping_plus(part);
            }
        }
        store_totals::<T>(&sums[..count], out.dtype, bytes);
    });
}
