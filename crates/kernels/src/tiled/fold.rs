//! Row reductions, and sums over tiles, in the types that registers hold.

use crate::dtype::{Compute, DType};
use crate::reduce::{Summand, add_rows, sum_each_row, sum_run};
use crate::simd::vectorised;

/// How a row is reduced to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The sum.
    Sum,
    /// The largest element; NaN if there is one.
    Max,
    /// The smallest element; NaN if there is one.
    Min,
}

vectorised! {
    fn extreme_each_row[T: Compute](values: &[T], length: usize, results: &mut [T], sign: T) {
        const LANES: usize = 16;
        for (result, row) in results.iter_mut().zip(values.chunks_exact(length)) {
            let mut lanes = [row[0]; LANES];
            let (chunks, tail) = row.as_chunks::<LANES>();
            for chunk in chunks {
                for (best, &value) in lanes.iter_mut().zip(chunk) {
                    *best = further(*best, value, sign);
                }
            }
            for (best, &value) in lanes.iter_mut().zip(tail) {
                *best = further(*best, value, sign);
            }
            let mut best = lanes[0];
            for &value in &lanes[1..] {
                best = further(best, value, sign);
            }
            *result = best;
        }
    }
}

/// The larger of both when multiplied by `sign`; NaN wins.
#[inline(always)]
#[allow(clippy::eq_op)]
fn further<T: Compute>(best: T, value: T, sign: T) -> T {
    if (value * sign > best * sign) | (value != value) { value } else { best }
}

impl Fold {
    /// Reduces each row of `length` elements.
    pub(super) fn rows(self, held: DType, values: &[u8], length: usize, results: &mut [u8]) {
        match held {
            DType::F64 => self.rows_as::<f64>(values, length, results),
            DType::F32 => self.rows_as::<f32>(values, length, results),
            _ => self.rows_as::<i64>(values, length, results),
        }
    }

    fn rows_as<T: Summand>(self, values: &[u8], length: usize, results: &mut [u8]) {
        let (values, results): (&[T], &mut [T]) = (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(results));
        match self {
            Fold::Sum if length == 0 => results.fill(T::ZERO),
            Fold::Sum => sum_each_row(values, length, results),
            Fold::Max => extreme_each_row(values, length, results, T::ONE),
            Fold::Min => extreme_each_row(values, length, results, -T::ONE),
        }
    }
}

/// Eight bytes that hold a sum: f64 for floats, i64 for integers.
pub(super) type Sum = [u8; 8];

/// Adds all of `values` to `sum`.
pub(super) fn add_all(held: DType, values: &[u8], sum: &mut Sum) {
    fn add<T: Summand>(values: &[u8], sum: &mut Sum) {
        let more = sum_run::<T>(bytemuck::cast_slice(values));
        let total: T::Total = bytemuck::cast(*sum);
        *sum = bytemuck::cast(total.wrapping_plus(more));
    }
    match held {
        DType::F64 => add::<f64>(values, sum),
        DType::F32 => add::<f32>(values, sum),
        _ => add::<i64>(values, sum),
    }
}

/// Adds each row of `values` to `sums`.
pub(super) fn add_columns(held: DType, values: &[u8], sums: &mut [u8]) {
    match held {
        DType::F64 => add_rows::<f64>(bytemuck::cast_slice_mut(sums), bytemuck::cast_slice(values)),
        DType::F32 => add_rows::<f32>(bytemuck::cast_slice_mut(sums), bytemuck::cast_slice(values)),
        _ => add_rows::<i64>(bytemuck::cast_slice_mut(sums), bytemuck::cast_slice(values)),
    }
}

/// Adds other sums to sums.
pub(super) fn join(held: DType, sums: &mut [u8], more: &[u8]) {
    match held {
        DType::F64 | DType::F32 => add_rows::<f64>(bytemuck::cast_slice_mut(sums), bytemuck::cast_slice(more)),
        _ => add_rows::<i64>(bytemuck::cast_slice_mut(sums), bytemuck::cast_slice(more)),
    }
}

/// Stores sums as elements of `dtype`, rounded once.
pub(super) fn store(sums: &[u8], dtype: DType, out: &mut [u8]) {
    match dtype.compute() {
        DType::F64 => f64::store(bytemuck::cast_slice(sums), dtype, out),
        // Through f32, as a separate sum would be.
        DType::F32 => {
            for (sum, out) in bytemuck::cast_slice::<u8, f64>(sums).iter().zip(out.chunks_exact_mut(dtype.size())) {
                f32::store(&[*sum as f32], dtype, out);
            }
        }
        _ => i64::store(bytemuck::cast_slice(sums), dtype, out),
    }
}
