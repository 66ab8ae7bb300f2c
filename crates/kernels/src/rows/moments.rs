//! `mean = sum x / n`, `variance = sum (x - mean)^2 / n`, over rows or over columns.
//!
//! Two passes, the second corrected for the rounding of the mean: with `d = x - mean`, `variance = (sum d^2 - (sum d)^2 / n) / n`. No
//! digits are lost if the mean is large compared with the spread.

use super::fold::{BLOCK, dot_block, sum_block, sum_of};
use super::{Float, count_rows};
use crate::pool::Buffer;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// The mean of a row and the sum of squared distances from it, in `f64`.
#[inline(always)]
pub(super) fn moments_of<T: Float>(x: &[T], scratch: &mut [T; BLOCK]) -> (f64, f64) {
    let n = x.len() as f64;
    let near = T::from_f64(sum_of(x) / n);
    let (mut distance, mut square) = (0.0, 0.0);
    for x in x.chunks(BLOCK) {
        let scratch = &mut scratch[..x.len()];
        for (d, &x) in scratch.iter_mut().zip(x) {
            *d = x - near;
        }
        distance += sum_block(scratch).to_f64();
        square += dot_block(scratch, scratch).to_f64();
    }
    (near.to_f64() + distance / n, square - distance * distance / n)
}

/// The mean and the variance (divided by `n`) of each row of `n` elements; NaN for `n = 0`.
///
/// ```
/// let (mut mean, mut variance) = ([0.0; 2], [0.0; 2]);
/// wengert_kernels::rows::mean_variance(&[1.0, 3.0, 5.0, 5.0], 2, &mut mean, &mut variance);
/// assert_eq!((mean, variance), ([2.0, 5.0], [1.0, 0.0]));
/// ```
pub fn mean_variance<T: Float>(x: &[T], n: usize, mean: &mut [T], variance: &mut [T]) {
    let rows = mean.len();
    assert!(x.len() == rows * n && variance.len() == rows, "mean_variance: {} elements, {rows} rows of {n}", x.len());
    let (mean, variance) = (Disjoint::new(mean), Disjoint::new(variance));
    for_each_group(rows, n, &|rows| {
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let (mean, variance) = unsafe { (mean.range(rows.start, rows.len()), variance.range(rows.start, rows.len())) };
        moments_of_rows(&x[rows.start * n..rows.end * n], n, mean, variance);
    });
}

vectorised! {
    fn moments_of_rows[T: Float](x: &[T], n: usize, mean: &mut [T], variance: &mut [T]) {
        let mut scratch = [T::ZERO; BLOCK];
        for (row, (mean, variance)) in mean.iter_mut().zip(variance).enumerate() {
            let (average, squares) = moments_of(&x[row * n..][..n], &mut scratch);
            *mean = T::from_f64(average);
            // The correction may leave a negative rounding error. The comparison lets NaN through.
            *variance = T::from_f64(if squares < 0.0 { 0.0 } else { squares / n as f64 });
        }
    }
}

/// The number of rows whose moments are computed together before they are merged.
const ROWS: usize = 256;

/// The mean and the variance (divided by the number of rows) of each of the `n` columns; NaN without rows.
///
/// Each block of 256 rows has its own moments; blocks are merged in order by Chan's formula.
///
/// ```
/// let (mut mean, mut variance) = ([0.0; 2], [0.0; 2]);
/// wengert_kernels::rows::mean_variance_of_columns(&[1.0, 5.0, 3.0, 5.0], 2, &mut mean, &mut variance);
/// assert_eq!((mean, variance), ([2.0, 5.0], [1.0, 0.0]));
/// ```
pub fn mean_variance_of_columns<T: Float>(x: &[T], n: usize, mean: &mut [T], variance: &mut [T]) {
    let rows = count_rows(n, &[x.len()], "mean_variance_of_columns");
    assert!(mean.len() == n && variance.len() == n, "mean_variance_of_columns: one mean and variance for {n} columns");
    let blocks = rows.div_ceil(ROWS);
    let mut sums = Buffer::<f64>::zeros(blocks * n);
    let mut squares = Buffer::<f64>::zeros(blocks * n);
    let (sums_parts, squares_parts) = (Disjoint::new(&mut sums), Disjoint::new(&mut squares));
    for_each_group(blocks, ROWS.min(rows.max(1)) * n, &|blocks| {
        for block in blocks {
            // SAFETY: each block is in one group, which runs once, and has its own ranges.
            let (sums, squares) = unsafe { (sums_parts.range(block * n, n), squares_parts.range(block * n, n)) };
            let last = ((block + 1) * ROWS).min(rows);
            moments_of_block(&x[block * ROWS * n..last * n], n, sums, squares);
        }
    });
    for column in 0..n {
        let (mut count, mut average, mut square) = (0.0, 0.0, 0.0);
        for block in 0..blocks {
            let size = ROWS.min(rows - block * ROWS) as f64;
            let gap = sums[block * n + column] / size - average;
            count += size;
            average += gap * (size / count);
            square += squares[block * n + column] + gap * gap * (size * (count - size) / count);
        }
        let empty = if rows == 0 { f64::NAN } else { 0.0 };
        mean[column] = T::from_f64(average + empty);
        variance[column] = T::from_f64(square / count);
    }
}

vectorised! {
    /// Sums and squared distances from the mean of the columns of one block.
    fn moments_of_block[T: Float](x: &[T], n: usize, sums: &mut [f64], squares: &mut [f64]) {
        let rows = (x.len() / n) as f64;
        for row in x.chunks_exact(n) {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += x.to_f64();
            }
        }
        for row in x.chunks_exact(n) {
            for ((square, &sum), &x) in squares.iter_mut().zip(sums.iter()).zip(row) {
                let distance = x.to_f64() - sum / rows;
                *square += distance * distance;
            }
        }
    }
}
