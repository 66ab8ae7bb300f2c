//! Distances between the rows of two matrices: `d[i][j] = |x[i] - y[j]|`.
//!
//! Differences are squared and summed directly. `|x|^2 + |y|^2 - 2 x y` would be one matrix product, but it loses all digits where two
//! points are close to each other.

use crate::linalg::Real;
use crate::simd::vectorised;
use crate::threads::for_each_chunk;

/// The number of operations below which a parallel region costs more than it saves.
const PARALLEL_WORK: usize = 400_000;

const LANES: usize = 16;

/// The Euclidean distances between the rows of the `m x k` matrices in `x` and the `n x k` matrices in `y`, as `m x n` matrices.
///
/// ```
/// let mut d = [0.0; 2];
/// wengert_kernels::distance::euclidean(&[0.0, 0.0], &[3.0, 4.0, 0.0, 0.0], [1, 1, 2, 2], &mut d);
/// assert_eq!(d, [5.0, 0.0]);
/// ```
pub fn euclidean<T: Real>(x: &[T], y: &[T], [batch, m, n, k]: [usize; 4], out: &mut [T]) {
    assert!(
        x.len() == batch * m * k && y.len() == batch * n * k && out.len() == batch * m * n,
        "euclidean: {batch} times {m}x{k} and {n}x{k} make {m}x{n}"
    );
    if out.is_empty() {
        return;
    }
    let row_work = (2 * n * k).max(1);
    let rows = if row_work * batch * m < PARALLEL_WORK { batch * m } else { (PARALLEL_WORK / 2).div_ceil(row_work) };
    for_each_chunk(out, rows * n, &|chunk, out| {
        for (row, out) in out.chunks_exact_mut(n).enumerate() {
            let row = chunk * rows + row;
            distances_of_row(&x[row * k..][..k], &y[row / m * n * k..][..n * k], out);
        }
    });
}

vectorised! {
    fn distances_of_row[T: Real](x: &[T], y: &[T], out: &mut [T]) {
        for (j, out) in out.iter_mut().enumerate() {
            let y = &y[j * x.len()..][..x.len()];
            let mut lanes = [T::ZERO; LANES];
            let ((x_chunks, x_tail), (y_chunks, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
            for (x, y) in x_chunks.iter().zip(y_chunks) {
                for i in 0..LANES {
                    let d = x[i] - y[i];
                    lanes[i] = lanes[i] + d * d;
                }
            }
            for ((lane, &x), &y) in lanes.iter_mut().zip(x_tail).zip(y_tail) {
                let d = x - y;
                *lane = *lane + d * d;
            }
            let mut half = LANES / 2;
            while half > 0 {
                for i in 0..half {
                    lanes[i] = lanes[i] + lanes[i + half];
                }
                half /= 2;
            }
            *out = lanes[0].root();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_equal_plain_sums_for_every_length_and_batch() {
        for k in [0, 1, 5, 16, 37] {
            let (m, n) = (3, 4);
            let x: Vec<f64> = (0..2 * m * k).map(|i| (i as f64 * 0.7).sin()).collect();
            let y: Vec<f64> = (0..2 * n * k).map(|i| (i as f64 * 1.3).cos()).collect();
            let mut d = vec![-1.0; 2 * m * n];
            euclidean(&x, &y, [2, m, n, k], &mut d);
            for (place, d) in d.iter().enumerate() {
                let (i, j) = (place / n, place / (m * n) * n + place % n);
                let sum: f64 = (0..k).map(|c| (x[i * k + c] - y[j * k + c]).powi(2)).sum();
                assert!((d - sum.sqrt()).abs() < 1e-14, "{k}: {place}");
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let x: Vec<f32> = (0..300 * 20).map(|i| (i as f32 * 0.37).sin()).collect();
        let run = |threads: usize| {
            let mut d = vec![0f32; 300 * 300];
            crate::set_threads(threads);
            euclidean(&x, &x, [1, 300, 300, 20], &mut d);
            d
        };
        assert_eq!(run(1), run(3));
    }
}
