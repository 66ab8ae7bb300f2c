//! `p_norm(x) = (sum of |x|^p)^(1/p)` along rows, for any p except 0.
//!
//! Powers are taken of `|x| / m`, where `m` is the largest magnitude (the smallest for negative p), so nothing overflows. The Euclidean
//! norm first tries the plain sum of squares.

use super::Float;
use super::fold::dot_of;
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// The p-norm of each row of `n` elements; 0 for `n = 0`. A negative p gives 0 where an element is 0.
///
/// ```
/// let mut y = [0.0; 2];
/// wengert_kernels::rows::p_norm(&[3.0, -4.0, 1e200, 0.0], 2, 2.0, &mut y);
/// assert_eq!(y, [5.0, 1e200]);
/// ```
pub fn p_norm<T: Float>(x: &[T], n: usize, p: f64, out: &mut [T]) {
    assert_eq!(x.len(), out.len() * n, "p_norm: {} rows of {n}", out.len());
    let rows = out.len();
    let results = Disjoint::new(out);
    let weight = if p == 2.0 { 1 } else { 16 };
    for_each_group(rows, n * weight, &|rows| {
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let out = unsafe { results.range(rows.start, rows.len()) };
        norms_of_rows(&x[rows.start * n..rows.end * n], n, p, out);
    });
}

vectorised! {
    fn norms_of_rows[T: Float](x: &[T], n: usize, p: f64, out: &mut [T]) {
        for (row, out) in out.iter_mut().enumerate() {
            let x = &x[row * n..][..n];
            *out = T::from_f64(if p == 2.0 { euclidean(x) } else { general(x, p) });
        }
    }
}

#[inline(always)]
fn euclidean<T: Float>(x: &[T]) -> f64 {
    let square = dot_of(x, x);
    // The squares of `f32` numbers are summed in `f32` blocks, so they too can overflow or underflow.
    if square > 1e-30 && square < 1e30 { square.sqrt() } else { general(x, 2.0) }
}

#[inline(never)]
fn general<T: Float>(x: &[T], p: f64) -> f64 {
    let mut scale = if p > 0.0 { 0.0 } else { f64::INFINITY };
    for &x in x {
        let size = x.to_f64().abs();
        let replaces = if p > 0.0 { size > scale } else { size < scale };
        if replaces || size.is_nan() {
            scale = size;
        }
        if size.is_nan() {
            break;
        }
    }
    if x.is_empty() {
        return 0.0;
    }
    if scale == 0.0 || !scale.is_finite() {
        return scale;
    }
    let mut sum = 0.0;
    for &x in x {
        let ratio = x.to_f64().abs() / scale;
        sum += if p == 2.0 { ratio * ratio } else { ratio.powf(p) };
    }
    scale * if p == 2.0 { sum.sqrt() } else { sum.powf(1.0 / p) }
}
