//! Hyperbolic functions and their inverses.
//!
//! `sinh(x) = x + x^3 P(x^2)` up to one; above it, and for the hyperbolic cosine everywhere, `e^x` as a sum of two numbers and its
//! reciprocal. `tanh(x) = t / (t + 2)` with `t = expm1(2x)`. The inverses are `log1p` of a sum whose rounding error is carried along.
//!
//! Measured error below 2 ulp (`tanh` in `f32`: 2.5).

use super::exponential::{exp_parts, expm1, power_of_two};
use super::logarithm::log1p_of_sum;
use super::real::{Arithmetic, Real, exact_sum, exact_sum_ordered, select};

/// `(k, high, low, inverse)` with `e^a = 2^k (high + low)` and `e^-a = 2^k inverse`, for `a >= 0`.
#[inline(always)]
fn both_exponentials<T: Arithmetic>(a: T) -> (T, T, T, T) {
    let limit = T::EXP_HIGH + T::of(1.0);
    let (k, high, low) = exp_parts(select(a > limit, limit, a));
    // 2^-100 is negligible next to one.
    let far = T::of(50.0);
    let near = select(k > far, far, k);
    (k, high, low, power_of_two(-(near + near)) / (high + low))
}

/// `p 2^(k-1)` for nonnegative `k`, even if `2^k` is infinite.
#[inline(always)]
fn halved<T: Arithmetic>(p: T, k: T) -> T {
    (p * power_of_two(k - T::of(2.0))) * T::of(2.0)
}

/// The hyperbolic sine.
///
/// ```
/// assert_eq!(wengert_kernels::math::sinh(1.0f64), 1.1752011936438014);
/// ```
#[inline(always)]
pub fn sinh<T: Real>(x: T) -> T {
    let (a, one) = (x.abs(), T::of(1.0));
    let (k, high, low, inverse) = both_exponentials(a);
    let far = halved(high + (low - inverse), k);
    let z = a * a;
    select(a < one, a + a * z * T::sinh_tail(z), far).copysign(x)
}

/// The hyperbolic cosine.
///
/// ```
/// assert_eq!(wengert_kernels::math::cosh(0.0f64), 1.0);
/// ```
#[inline(always)]
pub fn cosh<T: Real>(x: T) -> T {
    let (k, high, low, inverse) = both_exponentials(x.abs());
    halved(high + (low + inverse), k)
}

/// The hyperbolic tangent.
///
/// ```
/// assert_eq!(wengert_kernels::math::tanh(100.0f32), 1.0);
/// ```
#[inline(always)]
pub fn tanh<T: Real>(x: T) -> T {
    // From 22 on the result rounds to one.
    let limit = T::of(22.0);
    let a = x.abs();
    let a = select(a > limit, limit, a);
    tanh_of(x, expm1(a + a))
}

/// `tanh(x)` with `t = expm1(2|x|)`.
#[inline(always)]
pub(super) fn tanh_of<T: Arithmetic>(x: T, t: T) -> T {
    let (divisor, error) = exact_sum(t, T::of(2.0));
    let y = t / divisor;
    // The rounding error of the sum; one over the divisor is (1 - y) / 2.
    let y = if T::LENIENT { y } else { y - y * error * (T::of(0.5) - T::of(0.5) * y) };
    y.copysign(x)
}

/// `log(1 + a + b)` of `a >= b >= 0`.
#[inline(always)]
fn log1p_of_two<T: Arithmetic>(a: T, b: T) -> T {
    let (sum, error) = exact_sum_ordered(a, b);
    log1p_of_sum(sum, error)
}

/// The inverse of [`sinh`].
///
/// ```
/// assert_eq!(wengert_kernels::math::asinh(-0.0f64).to_bits(), (-0.0f64).to_bits());
/// ```
#[inline(always)]
pub fn asinh<T: Real>(x: T) -> T {
    let (a, one) = (x.abs(), T::of(1.0));
    // Beyond 2^54 the one under the root is negligible: log(2a).
    let far = a > T::of(18_014_398_509_481_984.0);
    let near = select(far, one, a);
    let square = near * near;
    // a + (sqrt(1 + a^2) - 1), without the cancellation.
    let rest = square / (one + (one + square).sqrt());
    let y = log1p_of_two(select(far, a, near), select(far, T::of(0.0), rest));
    (y + select(far, T::of(std::f64::consts::LN_2), T::of(0.0))).copysign(x)
}

/// The inverse of [`cosh`], nonnegative; NaN below one.
///
/// ```
/// assert_eq!(wengert_kernels::math::acosh(1.0f64), 0.0);
/// assert!(wengert_kernels::math::acosh(0.5f64).is_nan());
/// ```
#[inline(always)]
pub fn acosh<T: Real>(x: T) -> T {
    let far = x > T::of(18_014_398_509_481_984.0);
    let t = x - T::of(1.0);
    let near = select(far, T::of(1.0), t);
    // sqrt(x^2 - 1), of which x - 1 is at most one part.
    let root = (near * near + (near + near)).sqrt();
    let y = log1p_of_two(select(far, x, root), select(far, T::of(0.0), near));
    let y = y + select(far, T::of(std::f64::consts::LN_2), T::of(0.0));
    select(x >= T::of(1.0), y, T::of(f64::NAN))
}

/// The inverse of [`tanh`]; infinite at `-1` and `1`, NaN beyond.
///
/// ```
/// use wengert_kernels::math::atanh;
/// assert_eq!(atanh(1.0f64), f64::INFINITY);
/// assert!(atanh(1.5f64).is_nan());
/// ```
#[inline(always)]
pub fn atanh<T: Real>(x: T) -> T {
    let (a, one) = (x.abs(), T::of(1.0));
    // (1 + a) / (1 - a) = 1 + 2a / (1 - a); the rounding of the divisor is the tail.
    let (divisor, error) = exact_sum_ordered(one, -a);
    let quotient = (a + a) / divisor;
    let tail = select(a < T::of(0.5), -quotient * error / divisor, T::of(0.0));
    let y = T::of(0.5) * log1p_of_sum(quotient, tail);
    select(a <= one, select(a < T::of(1e-9), a, y), T::of(f64::NAN)).copysign(x)
}

/// tanh x = x / (1 + c) with the continued fraction c = x^2 / (3 + x^2 / (5 + ..)), so x - tanh x = x c / (1 + c). Cut at 23,
/// c / (1 + c) is x^2 SHRINK_ABOVE(x^2) / SHRINK_BELOW(x^2), within 2e-20 of it up to 1.6; coefficients from the constant on.
pub const SHRINK_ABOVE: [f64; 6] = [
    0.333_333_333_333_333_3,
    0.026_086_956_521_739_13,
    0.000_552_104_899_930_986_9,
    4.035_854_531_659_261e-6,
    9.249_475_626_415_419e-9,
    3.162_213_889_372_792_6e-12,
];
/// See `SHRINK_ABOVE`.
pub const SHRINK_BELOW: [f64; 7] = [
    1.0,
    0.478_260_869_565_217_4,
    0.031_055_900_621_118_012,
    0.000_610_221_205_186_880_3,
    4.273_257_739_403_923e-6,
    9.496_128_309_786_497e-9,
    3.162_213_889_372_792_6e-12,
];

#[inline(always)]
fn polynomial<T: Real>(coefficients: &[f64], x: T) -> T {
    coefficients.iter().rev().fold(T::of(0.0), |sum, &c| sum * x + T::of(c))
}

/// `x - tanh(x)`, without cancellation.
///
/// ```
/// assert_eq!(wengert_kernels::math::tanhshrink(1e-3f64) as f32, 3.333332e-10);
/// ```
#[inline(always)]
pub fn tanhshrink<T: Real>(x: T) -> T {
    let near = x.abs() < T::of(1.6);
    let z = if near { x * x } else { T::of(0.0) };
    let small = x * z * (polynomial(&SHRINK_ABOVE, z) / polynomial(&SHRINK_BELOW, z));
    if near { small } else { x - tanh(x) }
}
