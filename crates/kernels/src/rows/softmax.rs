//! `softmax(x)[i] = e^(x[i] - m) / s` with `m = max x` and `s = sum of e^(x[i] - m)`; `logsumexp(x) = m + ln s`;
//! `log_softmax(x)[i] = x[i] - m - ln s`.
//!
//! Gradients, from the output `y` and the cotangent `g`: softmax `y (g - sum g y)`, log_softmax `g - e^y sum g`, logsumexp `g e^(x - y)`. A
//! row of minus infinities has logsumexp minus infinity (and gradient 0) and softmax NaN; a row with infinity has logsumexp infinity and
//! softmax NaN; NaN propagates to its whole row.

use super::fold::{BLOCK, dot_of, exponentials, max_of, rows_at_once, sum_of, sums_of_exponentials};
use super::{EXPONENTIAL, Float, count_rows, finite_or_zero};
use crate::reduce::for_each_group;
use crate::simd::vectorised;
use crate::threads::Disjoint;

/// Calls `body(first element, rows of out)` on parts of whole rows.
fn for_each_rows<T: Send>(out: &mut [T], n: usize, weight: usize, body: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if out.is_empty() {
        return;
    }
    let rows = out.len() / n;
    let out = Disjoint::new(out);
    for_each_group(rows, n * weight, &|rows| {
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        body(rows.start * n, unsafe { out.range(rows.start * n, rows.len() * n) });
    });
}

/// `out = softmax(x)` along rows of `n` elements.
///
/// ```
/// let mut y = [0.0; 4];
/// wengert_kernels::rows::softmax(&[0.0, 0.0, f64::NEG_INFINITY, 7.0], 2, &mut y);
/// assert_eq!(y, [0.5, 0.5, 0.0, 1.0]);
/// ```
pub fn softmax<T: Float>(x: &[T], n: usize, out: &mut [T]) {
    count_rows(n, &[x.len(), out.len()], "softmax");
    for_each_rows(out, n, EXPONENTIAL, &|first, out| softmax_rows(&x[first..][..out.len()], n, out));
}

vectorised! {
    fn softmax_rows[T: Float](x: &[T], n: usize, out: &mut [T]) {
        let mut shifts = [T::ZERO; BLOCK];
        let group = rows_at_once(n) * n;
        for (x, out) in x.chunks(group).zip(out.chunks_mut(group)) {
            for (shift, x) in shifts.iter_mut().zip(x.chunks_exact(n)) {
                *shift = max_of(x);
            }
            exponentials(x, n, &shifts, out);
            for out in out.chunks_exact_mut(n) {
                let factor = T::from_f64(1.0 / sum_of(out));
                for out in out {
                    *out = *out * factor;
                }
            }
        }
    }
}

/// `dx = y * (g - sum(g * y))` along rows of `n` elements, where `y = softmax(x)`.
///
/// ```
/// let mut dx = [0.0; 2];
/// wengert_kernels::rows::softmax_gradient(&[0.5, 0.5], &[1.0, 0.0], 2, &mut dx);
/// assert_eq!(dx, [0.25, -0.25]);
/// ```
pub fn softmax_gradient<T: Float>(y: &[T], g: &[T], n: usize, dx: &mut [T]) {
    count_rows(n, &[y.len(), g.len(), dx.len()], "softmax_gradient");
    for_each_rows(dx, n, 1, &|first, dx| {
        softmax_gradient_rows(&y[first..][..dx.len()], &g[first..][..dx.len()], n, dx);
    });
}

vectorised! {
    fn softmax_gradient_rows[T: Float](y: &[T], g: &[T], n: usize, dx: &mut [T]) {
        for ((y, g), dx) in y.chunks_exact(n).zip(g.chunks_exact(n)).zip(dx.chunks_exact_mut(n)) {
            let shared = T::from_f64(dot_of(g, y));
            for ((dx, &y), &g) in dx.iter_mut().zip(y).zip(g) {
                *dx = y * (g - shared);
            }
        }
    }
}

/// `dy = u * (g - sum(g * y)) - g * sum(u * y)` along rows of `n` elements: the gradient of [`softmax_gradient`] with respect to `y`, from
/// its cotangent `u`.
///
/// ```
/// let mut dy = [0.0; 2];
/// wengert_kernels::rows::softmax_gradient_by_value(&[0.5, 0.5], &[1.0, 0.0], &[0.0, 2.0], 2, &mut dy);
/// assert_eq!(dy, [-1.0, -1.0]);
/// ```
pub fn softmax_gradient_by_value<T: Float>(y: &[T], g: &[T], u: &[T], n: usize, dy: &mut [T]) {
    count_rows(n, &[y.len(), g.len(), u.len(), dy.len()], "softmax_gradient_by_value");
    for_each_rows(dy, n, 1, &|first, dy| {
        let [y, g, u] = [y, g, u].map(|operand| &operand[first..][..dy.len()]);
        by_value_rows(y, g, u, n, dy);
    });
}

vectorised! {
    fn by_value_rows[T: Float](y: &[T], g: &[T], u: &[T], n: usize, dy: &mut [T]) {
        let rows = y.chunks_exact(n).zip(g.chunks_exact(n)).zip(u.chunks_exact(n)).zip(dy.chunks_exact_mut(n));
        for (((y, g), u), dy) in rows {
            let (with_g, with_u) = (T::from_f64(dot_of(g, y)), T::from_f64(dot_of(u, y)));
            for ((dy, &g), &u) in dy.iter_mut().zip(g).zip(u) {
                *dy = u * (g - with_g) - g * with_u;
            }
        }
    }
}

/// `out = ln(softmax(x))` along rows of `n` elements.
///
/// ```
/// let mut y = [0.0; 2];
/// wengert_kernels::rows::log_softmax(&[1000.0, 1000.0], 2, &mut y);
/// assert_eq!(y, [-std::f64::consts::LN_2; 2]);
/// ```
pub fn log_softmax<T: Float>(x: &[T], n: usize, out: &mut [T]) {
    count_rows(n, &[x.len(), out.len()], "log_softmax");
    for_each_rows(out, n, EXPONENTIAL, &|first, out| log_softmax_rows(&x[first..][..out.len()], n, out));
}

vectorised! {
    fn log_softmax_rows[T: Float](x: &[T], n: usize, out: &mut [T]) {
        let (mut scratch, mut shifts, mut sums) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK], [0.0; BLOCK]);
        let group = rows_at_once(n) * n;
        for (x, out) in x.chunks(group).zip(out.chunks_mut(group)) {
            for (shift, x) in shifts.iter_mut().zip(x.chunks_exact(n)) {
                *shift = max_of(x);
            }
            sums_of_exponentials(x, n, &shifts, &mut scratch, &mut sums);
            for (((x, out), &shift), &sum) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)).zip(&shifts).zip(&sums) {
                let rest = T::from_f64(sum.ln());
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = (x - shift) - rest;
                }
            }
        }
    }
}

/// `dx = g - e^y * sum(g)` along rows of `n` elements, where `y = log_softmax(x)`.
///
/// ```
/// let y = [0.5f64.ln(); 2];
/// let mut dx = [0.0; 2];
/// wengert_kernels::rows::log_softmax_gradient(&y, &[1.0, 0.0], 2, &mut dx);
/// assert!((dx[0] - 0.5).abs() < 1e-15 && (dx[1] + 0.5).abs() < 1e-15);
/// ```
pub fn log_softmax_gradient<T: Float>(y: &[T], g: &[T], n: usize, dx: &mut [T]) {
    count_rows(n, &[y.len(), g.len(), dx.len()], "log_softmax_gradient");
    for_each_rows(dx, n, EXPONENTIAL, &|first, dx| {
        log_softmax_gradient_rows(&y[first..][..dx.len()], &g[first..][..dx.len()], n, dx);
    });
}

vectorised! {
    fn log_softmax_gradient_rows[T: Float](y: &[T], g: &[T], n: usize, dx: &mut [T]) {
        for ((y, g), dx) in y.chunks_exact(n).zip(g.chunks_exact(n)).zip(dx.chunks_exact_mut(n)) {
            let total = T::from_f64(sum_of(g));
            for ((dx, &y), &g) in dx.iter_mut().zip(y).zip(g) {
                *dx = g - y.exp() * total;
            }
        }
    }
}

/// `out[row] = ln(sum(e^x))` over each row of `n` elements; minus infinity for `n = 0`.
///
/// ```
/// let mut y = [0.0; 2];
/// wengert_kernels::rows::logsumexp(&[0.0, 0.0, f64::NEG_INFINITY, f64::NEG_INFINITY], 2, &mut y);
/// assert_eq!(y, [std::f64::consts::LN_2, f64::NEG_INFINITY]);
/// ```
pub fn logsumexp<T: Float>(x: &[T], n: usize, out: &mut [T]) {
    assert_eq!(x.len(), out.len() * n, "logsumexp: {} rows of {n}", out.len());
    let (rows, results) = (out.len(), Disjoint::new(out));
    for_each_group(rows, n * EXPONENTIAL, &|rows| {
        // SAFETY: groups are disjoint ranges of rows, and each runs once.
        let out = unsafe { results.range(rows.start, rows.len()) };
        logsumexp_rows(&x[rows.start * n..rows.end * n], n, out);
    });
}

vectorised! {
    /// Processes one row after the other; also works for `n = 0`.
    pub(super) fn logsumexp_rows[T: Float](x: &[T], n: usize, out: &mut [T]) {
        let (mut scratch, mut shifts, mut sums) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK], [0.0; BLOCK]);
        for (group, out) in out.chunks_mut(rows_at_once(n)).enumerate() {
            let x = &x[group * rows_at_once(n) * n..][..out.len() * n];
            for (row, shift) in shifts[..out.len()].iter_mut().enumerate() {
                *shift = finite_or_zero(max_of(&x[row * n..][..n]));
            }
            if n > 0 {
                sums_of_exponentials(x, n, &shifts, &mut scratch, &mut sums);
            }
            for ((out, &shift), &sum) in out.iter_mut().zip(&shifts).zip(&sums) {
                *out = T::from_f64(shift.to_f64() + sum.ln());
            }
        }
    }
}

/// `dx = g[row] * e^(x - y[row])` along rows of `n` elements, where `y = logsumexp(x)`; 0 where `y` is minus infinity.
///
/// ```
/// let mut dx = [0.0; 2];
/// wengert_kernels::rows::logsumexp_gradient(&[0.0, 0.0], &[0.0], &[3.0], 2, &mut dx);
/// assert_eq!(dx, [3.0, 3.0]);
/// ```
pub fn logsumexp_gradient<T: Float>(x: &[T], y: &[T], g: &[T], n: usize, dx: &mut [T]) {
    let rows = count_rows(n, &[x.len(), dx.len()], "logsumexp_gradient");
    assert!(n == 0 || (y.len() == rows && g.len() == rows), "logsumexp_gradient: one y and one g for each row");
    for_each_rows(dx, n, EXPONENTIAL, &|first, dx| {
        let row = first / n;
        logsumexp_gradient_rows(&x[first..][..dx.len()], &y[row..], &g[row..], n, dx);
    });
}

vectorised! {
    fn logsumexp_gradient_rows[T: Float](x: &[T], y: &[T], g: &[T], n: usize, dx: &mut [T]) {
        for (((x, dx), &y), &g) in x.chunks_exact(n).zip(dx.chunks_exact_mut(n)).zip(y).zip(g) {
            let y = if y == -T::INFINITY { T::ZERO } else { y };
            for (dx, &x) in dx.iter_mut().zip(x) {
                *dx = g * (x - y).exp();
            }
        }
    }
}
