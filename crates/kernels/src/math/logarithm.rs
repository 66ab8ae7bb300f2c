//! Logarithms.
//!
//! `x = 2^k (1 + f)` with `1 + f` in `[sqrt(1/2), sqrt(2))` and `s = f / (2 + f)`, so that
//! `log(1 + f) = log((1+s)/(1-s)) = 2s + s z P(z)`, `z = s^2`; it is summed as `f - (f^2/2 - s (f^2/2 + z P(z)))`,
//! whose first term is exact (the arrangement of fdlibm). Other bases multiply that sum in two parts.
//!
//! Measured error below 1 ulp (`log1p`: 1.5). `log(0) = -inf`; below zero NaN.

use super::exponential::power_of_two;
use super::real::{Arithmetic, Real, exact_sum, select};

/// The terms of `log(1 + f)` that every base needs: `(f^2/2, s (f^2/2 + z P(z)))`.
#[inline(always)]
fn terms<T: Arithmetic>(f: T) -> (T, T) {
    let s = f / (T::of(2.0) + f);
    let z = s * s;
    let half_square = T::of(0.5) * f * f;
    (half_square, s * (half_square + z * T::log_tail(z)))
}

/// `(k, f)` of a positive number, including subnormal ones.
#[inline(always)]
fn reduce<T: Arithmetic>(x: T) -> (T, T) {
    let tiny = x < T::MIN_NORMAL;
    let (k, m) = select(tiny, x * T::of(18_014_398_509_481_984.0), x).split();
    (k - select(tiny, T::of(54.0), T::of(0.0)), m - T::of(1.0))
}

/// Applies the limits of a logarithm to its value `y`, which is valid for `x > 0`.
#[inline(always)]
fn with_limits<T: Arithmetic>(x: T, y: T) -> T {
    let infinity = T::of(f64::INFINITY);
    let outside = select(x == T::of(0.0), -infinity, T::of(f64::NAN));
    select(x == infinity, x, select(x > T::of(0.0), y, outside))
}

/// `k log 2 + log(1 + f + tail)`, natural. A missing tail is -0, which costs no addition.
#[inline(always)]
pub(super) fn assemble<T: Arithmetic>(k: T, f: T, tail: T) -> T {
    let (half_square, rest) = terms(f);
    k * T::LN2_HIGH - (((half_square - (k * T::LN2_LOW + tail)) - rest) - f)
}

/// `log(x)` in a base whose logarithm of two and of `e` are given in two parts.
#[inline(always)]
fn in_base<T: Arithmetic>(x: T, two: (T, T), e: (T, T)) -> T {
    let (k, f) = reduce(x);
    with_limits(x, assemble_in_base(k, f, two, e))
}

/// `k log 2 + log(1 + f)` in that base.
#[inline(always)]
pub(super) fn assemble_in_base<T: Arithmetic>(k: T, f: T, two: (T, T), e: (T, T)) -> T {
    let (half_square, rest) = terms(f);
    let high = (f - half_square).high();
    let low = ((f - high) - half_square) + rest;
    let (a, b) = (k * two.0, high * e.0);
    let sum = a + b;
    let error = (a - sum) + b;
    sum + (error + (k * two.1 + (low + high) * e.1 + low * e.0))
}

/// The natural logarithm.
///
/// ```
/// use wengert_kernels::math::log;
/// assert_eq!(log(1.0f64), 0.0);
/// assert_eq!(log(0.0f32), f32::NEG_INFINITY);
/// assert!(log(-1.0f32).is_nan());
/// ```
#[inline(always)]
pub fn log<T: Real>(x: T) -> T {
    let (k, f) = reduce(x);
    with_limits(x, assemble(k, f, T::of(-0.0)))
}

/// The logarithm to base two, exact for powers of two.
///
/// ```
/// assert_eq!(wengert_kernels::math::log2(0.125f64), -3.0);
/// ```
#[inline(always)]
pub fn log2<T: Real>(x: T) -> T {
    in_base(x, (T::of(1.0), T::of(0.0)), T::LOG2_E)
}

/// The logarithm to base ten.
///
/// ```
/// assert_eq!(wengert_kernels::math::log10(1000.0f64), 3.0);
/// ```
#[inline(always)]
pub fn log10<T: Real>(x: T) -> T {
    in_base(x, T::LOG10_2, T::LOG10_E)
}

/// `log(1 + x)`, accurate near zero.
///
/// ```
/// assert_eq!(wengert_kernels::math::log1p(1e-20f64), 1e-20);
/// ```
#[inline(always)]
pub fn log1p<T: Real>(x: T) -> T {
    let (u, error) = exact_sum(T::of(1.0), x);
    log1p_with_limits(x, u, rounded_log1p(x, u, error, T::of(-0.0)))
}

/// `log(1 + x + tail)` for a tail below half an ulp of `x`.
#[inline(always)]
pub(super) fn log1p_of_sum<T: Arithmetic>(x: T, tail: T) -> T {
    let one = T::of(1.0);
    let (u, error) = exact_sum(one, x);
    // tail / (1 + x) to a few percent of half an ulp.
    log1p_with_limits(x, u, rounded_log1p(x, u, error + tail, tail * (one - x + x * x)))
}

/// `log(u + error)` where `u` is `1 + x` rounded; near one `log(1 + x) + tail`.
#[inline(always)]
pub(super) fn rounded_log1p<T: Arithmetic>(x: T, u: T, error: T, tail: T) -> T {
    let (k, m) = u.split();
    let far = T::of(100.0);
    // Near one, f is x itself; elsewhere the result is so far from zero that f may be rounded.
    let whole = k == T::of(0.0);
    let f = select(whole, x, (m - T::of(1.0)) + error * power_of_two(-select(k > far, far, k)));
    assemble(k, f, select(whole, tail, T::of(-0.0)))
}

/// Applies the limits of `log(1 + x)` to its value `y`, with `u = 1 + x`; zeros keep their sign.
#[inline(always)]
fn log1p_with_limits<T: Arithmetic>(x: T, u: T, y: T) -> T {
    select(x == T::of(0.0), x, with_limits(u, y))
}

/// `x log(y)`, and zero where `x` is zero (unless `y` is NaN).
///
/// ```
/// assert_eq!(wengert_kernels::math::xlogy(0.0f64, 0.0), 0.0);
/// ```
#[inline(always)]
pub fn xlogy<T: Real>(x: T, y: T) -> T {
    let product = x * log(y);
    let zero = T::of(0.0);
    select(x == zero, select(y.is_nan(), y, zero), product)
}

/// `log(x / (1 - x))`, the inverse of the logistic function.
///
/// ```
/// assert_eq!(wengert_kernels::math::logit(0.5f64), 0.0);
/// ```
#[inline(always)]
pub fn logit<T: Real>(x: T) -> T {
    // Near one half, from twice the distance to it and from the smaller of x and 1 - x, which are both exact.
    let (zero, one, half) = (T::of(0.0), T::of(1.0), T::of(0.5));
    let (rest, low) = (one - x, x < half);
    let middle = (x > T::of(0.25)) & (x < T::of(0.75));
    let distance = if low { half - x } else { x - half };
    let near = if middle { (distance + distance) / if low { x } else { rest } } else { zero };
    let far = if middle { one } else { x / rest };
    let near = log1p(near);
    log(far) + if low { -near } else { near }
}
