//! Exponentials and functions built on them.
//!
//! `x = k ln 2 + r` with `|r| <= ln(2)/2` (Cody and Waite: `k` times the upper part of `ln 2` is exact), then `e^r = 1 + r + r^2 P(r)`,
//! then the exponent field. Where two more roundings would matter, `e^r` is kept as a sum `high + low` that is accurate to about 0.1 ulp.
//!
//! Measured error: `exp` below 0.7 ulp (`f32`: 1.1), `exp2` and `expm1` below 1.2 (`f32`: 1.8), the rest below 2 (`f32`: 2.5), including
//! subnormal results.

use super::logarithm::log1p;
use super::real::{Arithmetic, Real, exact_sum, select};

/// `2^k` for an integer `|k|` below the largest exponent.
#[inline(always)]
pub(super) fn power_of_two<T: Arithmetic>(k: T) -> T {
    (k + T::MAGIC_EXPONENT).into_exponent()
}

/// `p 2^k` for `p` near one, rounded a second time if the result is subnormal.
#[inline(always)]
pub(super) fn scale<T: Arithmetic>(p: T, k: T) -> T {
    scale_by_half(p, k, (k + (T::MAGIC_EXPONENT - T::of(1.0))).into_exponent())
}

/// `p 2^k` with `half = 2^(k-1)`, which is finite where `2^k` may not be.
///
/// For small `k` the exponent field of `half` has wrapped around; it is first raised out of the subnormal range.
#[inline(always)]
fn scale_by_half<T: Arithmetic>(p: T, k: T, half: T) -> T {
    let small = k < T::SMALL_EXPONENT;
    let factor = select(small, half.raise(), half);
    (p * factor) * select(small, T::of(2.0 / 18_446_744_073_709_551_616.0), T::of(2.0))
}

/// Clamps `x` to the range outside of which its exponential is certainly zero or infinite; NaN propagates.
#[inline(always)]
fn clamp<T: Arithmetic>(x: T) -> T {
    let x = select(x < T::EXP_LOW, T::EXP_LOW, x);
    select(x > T::EXP_HIGH, T::EXP_HIGH, x)
}

/// `(k, r, tail)` with `x = k ln 2 + r + tail`.
#[inline(always)]
pub(super) fn reduce<T: Arithmetic>(x: T) -> (T, T, T) {
    let k = (x * T::of(std::f64::consts::LOG2_E) + T::MAGIC) - T::MAGIC;
    let upper = x - k * T::LN2_HIGH;
    let lower = k * T::LN2_LOW;
    let r = upper - lower;
    (k, r, (upper - r) - lower)
}

/// `(k, high, low)` with `e^x = 2^k (high + low)` and `high = 1 + r`, for `x` between `EXP_LOW` and `EXP_HIGH + 1`.
#[inline(always)]
pub(super) fn exp_parts<T: Arithmetic>(x: T) -> (T, T, T) {
    let (k, r, tail) = reduce(x);
    let (high, low) = reduced_parts(r, tail);
    (k, high, low)
}

/// `(high, low)` with `e^(r + tail) = high + low` and `high = 1 + r`.
#[inline(always)]
fn reduced_parts<T: Arithmetic>(r: T, tail: T) -> (T, T) {
    let one = T::of(1.0);
    let high = one + r;
    (high, ((r - (high - one)) + tail) + r * r * T::exp_tail(r))
}

/// `e^(r + tail)` for a reduced argument. A missing tail is -0, which costs no addition.
#[inline(always)]
pub(super) fn reduced_exp<T: Arithmetic>(r: T, tail: T) -> T {
    if T::LENIENT {
        return T::of(1.0) + (r + r * r * T::exp_tail(r));
    }
    let (high, low) = reduced_parts(r, tail);
    high + low
}

/// `e^x`.
///
/// ```
/// assert_eq!(wengert_kernels::math::exp(1.0f64), std::f64::consts::E);
/// ```
#[inline(always)]
pub fn exp<T: Real>(x: T) -> T {
    let x = clamp(x);
    if !T::LENIENT {
        let (k, r, tail) = reduce(x);
        return scale(reduced_exp(r, tail), k);
    }
    // As `reduce`, but the low bits of the sum already contain the exponent of `half`.
    let magic = T::MAGIC_EXPONENT - T::of(1.0);
    let sum = x * T::of(std::f64::consts::LOG2_E) + magic;
    let k = sum - magic;
    let r = (x - k * T::LN2_HIGH) - k * T::LN2_LOW;
    scale_by_half(reduced_exp(r, T::of(0.0)), k, sum.into_exponent())
}

/// `2^x`.
///
/// ```
/// assert_eq!(wengert_kernels::math::exp2(-3.0f32), 0.125);
/// ```
#[inline(always)]
pub fn exp2<T: Real>(x: T) -> T {
    // The last is 128 or 1024, the first power of two that is infinite.
    let low = (T::EXP_LOW * T::of(std::f64::consts::LOG2_E)).floor();
    let high = (T::EXP_HIGH * T::of(std::f64::consts::LOG2_E)).floor();
    let x = select(x < low, low, x);
    let x = select(x > high, high, x);
    let (p, k) = exp2_parts(x);
    scale(p, k)
}

/// `(p, k)` with `2^x = p 2^k`.
#[inline(always)]
pub(super) fn exp2_parts<T: Arithmetic>(x: T) -> (T, T) {
    let k = (x + T::MAGIC) - T::MAGIC;
    let r = (x - k) * T::of(std::f64::consts::LN_2);
    (T::of(1.0) + (r + r * r * T::exp_tail(r)), k)
}

/// `e^x - 1`, accurate near zero.
///
/// ```
/// assert_eq!(wengert_kernels::math::expm1(1e-20f64), 1e-20);
/// ```
#[inline(always)]
pub fn expm1<T: Real>(x: T) -> T {
    // Below -45 the result rounds to -1.
    let low = T::of(-45.0);
    let (k, r, tail) = reduce(select(x > T::EXP_HIGH, T::EXP_HIGH, select(x < low, low, x)));
    let one = T::of(1.0);
    // 2^k ((1 - 2^-k) + (e^r - 1)); 2^-100 is negligible next to one.
    let far = T::of(100.0);
    let offset = one - power_of_two(-select(k > far, far, k));
    let scaled = (reduced_expm1(offset, r, tail) * power_of_two(k - one)) * T::of(2.0);
    // Where the result is x itself: zeros keep their sign and subnormals their last bit.
    select(x.abs() < T::of(1e-17), x, scaled)
}

/// `offset + (e^(r + tail) - 1)` for a reduced argument.
#[inline(always)]
pub(super) fn reduced_expm1<T: Arithmetic>(offset: T, r: T, tail: T) -> T {
    if T::LENIENT {
        return offset + (r + r * r * T::exp_tail(r));
    }
    let (sum, error) = exact_sum(offset, r);
    sum + ((error + tail) + r * r * T::exp_tail(r))
}

/// `1 / (1 + e^-x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::sigmoid(0.0f32), 0.5);
/// ```
#[inline(always)]
pub fn sigmoid<T: Real>(x: T) -> T {
    sigmoid_of(x, exp(-x.abs()))
}

/// `sigmoid(x)` with `e = e^-|x|`.
#[inline(always)]
pub(super) fn sigmoid_of<T: Arithmetic>(x: T, e: T) -> T {
    let (one, negative) = (T::of(1.0), x < T::of(0.0));
    let divisor = one + e;
    let y = select(negative, e, one) / divisor;
    if T::LENIENT {
        y
    } else {
        // The rounding error of the sum; one over the divisor is y or 1 - y.
        let error = e - (divisor - one);
        y - y * error * select(negative, one - y, y)
    }
}

/// `log(1 + e^x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::softplus(1000.0f64), 1000.0);
/// ```
#[inline(always)]
pub fn softplus<T: Real>(x: T) -> T {
    select(x < T::of(0.0), T::of(0.0), x) + log1p(exp(-x.abs()))
}

/// `log(sigmoid(x)) = -softplus(-x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::logsigmoid(-1000.0f64), -1000.0);
/// ```
#[inline(always)]
pub fn logsigmoid<T: Real>(x: T) -> T {
    select(x > T::of(0.0), T::of(0.0), x) - log1p(exp(-x.abs()))
}

/// `log(e^a + e^b)`; for two equal infinities the result is that infinity.
///
/// The error is 2 ulp of the largest of `|a|`, `|b|` and the result (the result itself may be near zero).
///
/// ```
/// use wengert_kernels::math::logaddexp;
/// assert_eq!(logaddexp(0.0f64, 0.0), std::f64::consts::LN_2);
/// assert_eq!(logaddexp(f32::NEG_INFINITY, 3.0), 3.0);
/// ```
#[inline(always)]
pub fn logaddexp<T: Real>(a: T, b: T) -> T {
    let larger = select(a > b, a, b);
    let distance = select(a == b, T::of(0.0), (a - b).abs());
    larger + log1p(exp(-distance))
}
