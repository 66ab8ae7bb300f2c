//! Layer norm `y = (x - mean) rstd gain + bias`, `rstd = 1 / sqrt(variance + epsilon)`, and RMS norm
//! `y = x rstd gain + bias`, `rstd = 1 / sqrt(mean of x^2 + epsilon)`, along rows.
//!
//! With `u = (x - mean) rstd` (RMS: `x rstd`) and `h = g gain`: `dx = rstd (h - mean(h) - u mean(h u))` (RMS: without `mean(h)`),
//! `dgain = sum over rows of g u`, `dbias = sum of g`. Sums over rows are taken over blocks of 32 rows, and the blocks are added in order
//! in `f64`.

use super::fold::{BLOCK, dot_block, dot_of, sum_block};
use super::moments::moments_of;
use super::{Float, count_rows};
use crate::pool::Buffer;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// The optional gain and bias of each column.
///
/// ```
/// use wengert_kernels::rows::Affine;
/// let neither = Affine::<f32> { gain: None, bias: None };
/// assert!(neither.gain.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a, T> {
    /// Factors, one for each column.
    pub gain: Option<&'a [T]>,
    /// Summands, one for each column.
    pub bias: Option<&'a [T]>,
}

/// The destinations of the gradients of a normalisation; `None` if a gradient is not needed.
///
/// ```
/// use wengert_kernels::rows::NormGradient;
/// let mut dx = [0.0f32; 4];
/// let gradient = NormGradient { dx: &mut dx, dgain: None, dbias: None };
/// assert_eq!(gradient.dx.len(), 4);
/// ```
#[derive(Debug)]
pub struct NormGradient<'a, T> {
    /// The gradient of the input.
    pub dx: &'a mut [T],
    /// The gradient of the gain, one for each column.
    pub dgain: Option<&'a mut [T]>,
    /// The gradient of the bias, one for each column.
    pub dbias: Option<&'a mut [T]>,
}

/// Layer norm along rows of `n` elements; `mean` and `rstd` have one element for each row.
///
/// ```
/// use wengert_kernels::rows::{Affine, layer_norm};
/// let (mut y, mut mean, mut rstd) = ([0.0; 2], [0.0], [0.0]);
/// let affine = Affine { gain: Some(&[1.0, 2.0]), bias: Some(&[10.0, 10.0]) };
/// layer_norm(&[3.0, 7.0], 2, affine, 0.0, &mut y, &mut mean, &mut rstd);
/// assert_eq!((y, mean, rstd), ([9.0, 12.0], [5.0], [0.5]));
/// ```
pub fn layer_norm<T: Float>(
    x: &[T],
    n: usize,
    affine: Affine<'_, T>,
    epsilon: T,
    out: &mut [T],
    mean: &mut [T],
    rstd: &mut [T],
) {
    assert_eq!(mean.len(), rstd.len(), "layer_norm: one mean and one rstd for each row");
    normalise(x, n, affine, epsilon, out, Some(mean), rstd);
}

/// RMS norm along rows of `n` elements; `rstd` has one element for each row.
///
/// ```
/// use wengert_kernels::rows::{Affine, rms_norm};
/// let (mut y, mut rstd) = ([0f64; 2], [0f64]);
/// rms_norm(&[1.0, 7.0], 2, Affine { gain: None, bias: None }, 0.0, &mut y, &mut rstd);
/// assert!((y[1] - 1.4).abs() < 1e-15 && (rstd[0] - 0.2).abs() < 1e-15);
/// ```
pub fn rms_norm<T: Float>(x: &[T], n: usize, affine: Affine<'_, T>, epsilon: T, out: &mut [T], rstd: &mut [T]) {
    normalise(x, n, affine, epsilon, out, None, rstd);
}

fn normalise<T: Float>(
    x: &[T],
    n: usize,
    affine: Affine<'_, T>,
    epsilon: T,
    out: &mut [T],
    mean: Option<&mut [T]>,
    rstd: &mut [T],
) {
    let rows = rstd.len();
    assert!(x.len() == rows * n && out.len() == rows * n, "norm: {} elements for {rows} rows of {n}", x.len());
    expect_columns(affine.gain.map(<[T]>::len), n);
    expect_columns(affine.bias.map(<[T]>::len), n);
    let (out, rstd, mean) = (Disjoint::new(out), Disjoint::new(rstd), mean.map(Disjoint::new));
    for_each_group(rows, n, &|rows| {
        let (start, count) = (rows.start, rows.len());
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let (out, rstd) = unsafe { (out.range(start * n, count * n), rstd.range(start, count)) };
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let mean = mean.as_ref().map(|mean| unsafe { mean.range(start, count) });
        normalise_rows(&x[start * n..rows.end * n], n, affine, epsilon, out, mean, rstd);
    });
}

fn expect_columns(length: Option<usize>, n: usize) {
    assert!(length.is_none_or(|length| length == n), "norm: {length:?} gains or biases for {n} columns");
}

vectorised! {
    fn normalise_rows[T: Float](
        x: &[T], n: usize, affine: Affine<'_, T>, epsilon: T, out: &mut [T], mean: Option<&mut [T]>, rstd: &mut [T],
    ) {
        let mut scratch = [T::ZERO; BLOCK];
        let mut mean = mean;
        for (row, rstd) in rstd.iter_mut().enumerate() {
            let (x, out) = (&x[row * n..][..n], &mut out[row * n..][..n]);
            let mut center = T::ZERO;
            let squares = match &mut mean {
                Some(mean) => {
                    let (average, squares) = moments_of(x, &mut scratch);
                    center = T::from_f64(average);
                    mean[row] = center;
                    squares
                }
                None => dot_of(x, x),
            };
            let factor = T::from_f64(1.0 / (squares / n as f64 + epsilon.to_f64()).sqrt());
            *rstd = factor;
            match affine.gain {
                Some(gain) => {
                    let gain = &gain[..n];
                    for i in 0..n {
                        out[i] = (x[i] - center) * factor * gain[i];
                    }
                }
                None => {
                    for i in 0..n {
                        out[i] = (x[i] - center) * factor;
                    }
                }
            }
            if let Some(bias) = affine.bias {
                let bias = &bias[..n];
                for i in 0..n {
                    out[i] = out[i] + bias[i];
                }
            }
        }
    }
}

/// The gradient of [`layer_norm`] from its input, `mean`, `rstd` and the cotangent `g` of its output.
///
/// ```
/// use wengert_kernels::rows::{NormGradient, layer_norm_gradient};
/// let (mut dx, mut dbias) = ([1.0; 3], [0.0; 3]);
/// let to = NormGradient { dx: &mut dx, dgain: None, dbias: Some(&mut dbias) };
/// // A constant cotangent changes nothing: the mean is subtracted.
/// layer_norm_gradient(&[1.0, 2.0, 3.0], 3, None, &[2.0], &[1.5f64.sqrt()], &[4.0; 3], to);
/// assert_eq!((dx, dbias), ([0.0; 3], [4.0; 3]));
/// ```
pub fn layer_norm_gradient<T: Float>(
    x: &[T],
    n: usize,
    gain: Option<&[T]>,
    mean: &[T],
    rstd: &[T],
    g: &[T],
    to: NormGradient<'_, T>,
) {
    assert_eq!(mean.len(), rstd.len(), "layer_norm_gradient: one mean and one rstd for each row");
    gradient(x, n, gain, Some(mean), rstd, g, to);
}

/// The gradient of [`rms_norm`] from its input, `rstd` and the cotangent `g` of its output.
///
/// ```
/// use wengert_kernels::rows::{NormGradient, rms_norm_gradient};
/// let (mut dx, mut dgain) = ([1.0; 1], [0.0; 1]);
/// let to = NormGradient { dx: &mut dx, dgain: Some(&mut dgain), dbias: None };
/// rms_norm_gradient(&[2.0], 1, None, &[0.5], &[3.0], to);
/// assert_eq!((dx, dgain), ([0.0], [3.0]));
/// ```
pub fn rms_norm_gradient<T: Float>(
    x: &[T],
    n: usize,
    gain: Option<&[T]>,
    rstd: &[T],
    g: &[T],
    to: NormGradient<'_, T>,
) {
    gradient(x, n, gain, None, rstd, g, to);
}

/// The number of rows whose contributions to the gain and the bias are added together.
const ROWS: usize = 32;

fn gradient<T: Float>(
    x: &[T],
    n: usize,
    gain: Option<&[T]>,
    mean: Option<&[T]>,
    rstd: &[T],
    g: &[T],
    to: NormGradient<'_, T>,
) {
    let rows = rstd.len();
    if n > 0 {
        let counted = count_rows(n, &[x.len(), g.len(), to.dx.len()], "norm gradient");
        assert_eq!(counted, rows, "norm gradient: one rstd for each row");
    }
    expect_columns(gain.map(<[T]>::len), n);
    expect_columns(to.dgain.as_deref().map(<[T]>::len), n);
    expect_columns(to.dbias.as_deref().map(<[T]>::len), n);
    let blocks = rows.div_ceil(ROWS);
    let mut gains = Buffer::<T>::zeros(if to.dgain.is_some() { blocks * n } else { 0 });
    let mut biases = Buffer::<T>::zeros(if to.dbias.is_some() { blocks * n } else { 0 });
    let (gain_width, bias_width) = (gains.len() / blocks.max(1), biases.len() / blocks.max(1));
    let (dx, gain_parts, bias_parts) = (Disjoint::new(to.dx), Disjoint::new(&mut gains), Disjoint::new(&mut biases));
    for_each_group(blocks, ROWS.min(rows) * n, &|blocks| {
        for block in blocks {
            let (first, last) = (block * ROWS, ((block + 1) * ROWS).min(rows));
            // SAFETY: each block is in one group, which runs once, and has its own ranges.
            let (dx, dgain, dbias) = unsafe {
                (
                    dx.range(first * n, (last - first) * n),
                    gain_parts.range(block * gain_width, gain_width),
                    bias_parts.range(block * bias_width, bias_width),
                )
            };
            let (x, g) = (&x[first * n..last * n], &g[first * n..last * n]);
            let rows = Rows { x, g, n, gain, mean: mean.map(|mean| &mean[first..last]), rstd: &rstd[first..last] };
            gradient_rows(rows, dx, dgain, dbias);
        }
    });
    for (parts, total) in [(&gains, to.dgain), (&biases, to.dbias)] {
        if let Some(total) = total {
            add_parts(parts, total);
        }
    }
}

/// One block of rows with its statistics.
struct Rows<'a, T> {
    x: &'a [T],
    g: &'a [T],
    n: usize,
    gain: Option<&'a [T]>,
    mean: Option<&'a [T]>,
    rstd: &'a [T],
}

/// `u = (x - center) rstd`.
#[inline(always)]
fn center_into<T: Float>(x: &[T], center: T, rstd: T, u: &mut [T]) {
    for (u, &x) in u.iter_mut().zip(x) {
        *u = (x - center) * rstd;
    }
}

vectorised! {
    /// `dgain` and `dbias` start at 0; they are empty if they are not needed.
    fn gradient_rows[T: Float](rows: Rows<'_, T>, dx: &mut [T], dgain: &mut [T], dbias: &mut [T]) {
        let n = rows.n;
        let mut scratch = [T::ZERO; BLOCK];
        for (row, &rstd) in rows.rstd.iter().enumerate() {
            let (x, g, dx) = (&rows.x[row * n..][..n], &rows.g[row * n..][..n], &mut dx[row * n..][..n]);
            let center = rows.mean.map_or(T::ZERO, |mean| mean[row]);
            let (mut sum, mut product) = (0.0, 0.0);
            for first in (0..n).step_by(BLOCK) {
                let last = (first + BLOCK).min(n);
                let (g, h, u) = (&g[first..last], &mut dx[first..last], &mut scratch[..last - first]);
                center_into(&x[first..last], center, rstd, u);
                match rows.gain {
                    Some(gain) => {
                        for ((h, &g), &gain) in h.iter_mut().zip(g).zip(&gain[first..last]) {
                            *h = g * gain;
                        }
                    }
                    None => h.copy_from_slice(g),
                }
                if !dgain.is_empty() {
                    for ((total, &g), &u) in dgain[first..last].iter_mut().zip(g).zip(u.iter()) {
                        *total = *total + g * u;
                    }
                }
                if !dbias.is_empty() {
                    for (total, &g) in dbias[first..last].iter_mut().zip(g) {
                        *total = *total + g;
                    }
                }
                if rows.mean.is_some() {
                    sum += sum_block(h).to_f64();
                }
                product += dot_block(h, u).to_f64();
            }
            let (average, slope) = (T::from_f64(sum / n as f64), T::from_f64(product / n as f64));
            for (dx, &x) in dx.iter_mut().zip(x) {
                *dx = rstd * (*dx - average - (x - center) * rstd * slope);
            }
        }
    }
}

/// `total[column] = sum over the parts`, in `f64`.
fn add_parts<T: Float>(parts: &[T], total: &mut [T]) {
    let n = total.len();
    let shared = Disjoint::new(total);
    for_each_group(n.div_ceil(BLOCK), parts.len() / n.div_ceil(BLOCK).max(1), &|blocks| {
        for block in blocks {
            let first = block * BLOCK;
            // SAFETY: each block is in one group, which runs once, and has its own range of columns.
            let total = unsafe { shared.range(first, BLOCK.min(n - first)) };
            add_columns(parts, n, first, total);
        }
    });
}

vectorised! {
    fn add_columns[T: Float](parts: &[T], n: usize, first: usize, total: &mut [T]) {
        let mut sums = [0.0; BLOCK];
        for part in parts.chunks_exact(n) {
            for (sum, &part) in sums[..total.len()].iter_mut().zip(&part[first..]) {
                *sum += part.to_f64();
            }
        }
        for (total, &sum) in total.iter_mut().zip(&sums) {
            *total = T::from_f64(sum);
        }
    }
}
