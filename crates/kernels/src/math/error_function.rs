//! The error function and the normal distribution.
//!
//! `f64`: `erf(x) = x + x P(x^2)` up to one half. Above it `erfc(x) = e^(-x^2) erfcx(x)`, where `(1 + 2x) erfcx(x)` is a polynomial in
//! `(x - 3) / (x + 3)` over the whole half line, and all three factors are kept as sums of two numbers. `f32`: `erf(x) = x + x P(x^2)` up
//! to one, above it `1 - e^Q(x)`; `erfc` and `ndtr` use a shorter formula in `f64`.
//!
//! The measured error of `erf` and `erfc` is below 2 ulp, also in the far tail. The others have a relative error of at most `1e-14`; they
//! compute in `f64` for `f32` too.

use super::coefficients::{double, single};
use super::exponential::{exp, exp_parts, scale};
use super::logarithm::{log, log1p};
use super::real::{Arithmetic, Real, exact_product, exact_sum, exact_sum_ordered, select};
use std::f64::consts::FRAC_1_SQRT_2;

#[inline(always)]
pub(super) fn near_erf<T: Arithmetic>(x: T) -> T {
    x + x * T::erf_tail(x * x)
}

#[inline(always)]
pub(super) fn far_erf_single(x: f32) -> f32 {
    1.0 - exp(single::log_erfc(select(x > 4.0, 4.0, x)))
}

#[inline(always)]
pub(super) fn far_erf_double(x: f64) -> f64 {
    1.0 - erfc_positive(select(x > 6.0, 6.0, x))
}

/// `erfcx(a)` in two parts, for `1/2 <= a <= 1e7`.
#[inline(always)]
fn erfcx_parts(a: f64) -> (f64, f64) {
    let t = (a - 3.0) / (a + 3.0);
    let (p, p_low) = exact_sum_ordered(double::ERFCX, t * double::erfcx_tail(t));
    let (divisor, divisor_low) = exact_sum(1.0, 2.0 * a);
    let inverse = 1.0 / divisor;
    let q = p * inverse;
    let (product, error) = exact_product(q, divisor);
    (q, (((p - product) - error) + (p_low - q * divisor_low)) * inverse)
}

/// `e^(-s - s_low) (q + q_low)` for `0 <= s <= 745`.
#[inline(always)]
fn damped((s, s_low): (f64, f64), (q, q_low): (f64, f64)) -> f64 {
    let (k, high, low) = exp_parts(-s);
    scale(high * q + (high * q_low + (low - (high + low) * s_low) * q), k)
}

/// `erfc(a)` for `a >= 1/2`.
#[inline(always)]
fn erfc_positive(a: f64) -> f64 {
    let a = select(a > 27.3, 27.3, a);
    damped(exact_product(a, a), erfcx_parts(a))
}

#[inline(always)]
fn erfc_double(x: f64) -> f64 {
    let a = x.abs();
    let far = erfc_positive(a);
    select(a < 0.5, near_erfc(x), select(x < 0.0, 2.0 - far, far))
}

/// `erfc(x)` for `|x| <= 1/2`.
#[inline(always)]
pub(super) fn near_erfc(x: f64) -> f64 {
    let (sum, error) = exact_sum_ordered(1.0, -x);
    sum + (error - x * double::erf_tail(x * x))
}

/// `erfc(x)` to the precision of `f32`: each factor as one number, and far fewer terms.
#[inline(always)]
fn erfc_short(x: f64) -> f64 {
    let a = x.abs();
    // From here on the result is zero in f32; the limit keeps the products below finite.
    let a = select(a > 15.0, 15.0, a);
    let y = exp(-a * a) * double::erfcx_short((a - 3.0) / (a + 3.0)) / (1.0 + 2.0 * a);
    select(x < 0.0, 2.0 - y, y)
}

/// `2/sqrt(pi)` times the integral of `e^(-t^2)` from zero to `x`.
///
/// ```
/// assert_eq!(wengert_kernels::math::erf(1.0f64), 0.8427007929497149);
/// ```
#[inline(always)]
pub fn erf<T: Real>(x: T) -> T {
    let a = x.abs();
    select(a < T::ERF_NEAR, near_erf(a), a.far_erf()).copysign(x)
}

/// `1 - erf(x)`, accurate where that is small.
///
/// ```
/// assert_eq!(wengert_kernels::math::erfc(0.0f64), 1.0);
/// ```
#[inline(always)]
pub fn erfc<T: Real>(x: T) -> T {
    let x = x.wide();
    T::of(if T::LENIENT { erfc_short(x) } else { erfc_double(x) })
}

fn erfcx_double(x: f64) -> f64 {
    if x < 0.5 {
        let (s, s_low) = exact_product(x, x);
        if x < -26.7 {
            return f64::INFINITY;
        }
        // e^s (1 + s_low)
        let (k, high, low) = exp_parts(s);
        let low = low + (high + low) * s_low;
        if x >= -0.5 {
            return scale(high + low, k) * erfc_double(x);
        }
        return 2.0 * scale(high + low, k) - erfcx_double(-x);
    }
    if x > 1e7 {
        return 0.5 * std::f64::consts::FRAC_2_SQRT_PI / x;
    }
    let (q, q_low) = erfcx_parts(x);
    q + q_low
}

/// `e^(x^2) erfc(x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::erfcx(0.0f64), 1.0);
/// ```
pub fn erfcx<T: Real>(x: T) -> T {
    T::of(erfcx_double(x.wide()))
}

/// `P(Z <= x)` of a standard normal variable.
///
/// ```
/// assert_eq!(wengert_kernels::math::ndtr(0.0f64), 0.5);
/// ```
#[inline(always)]
pub fn ndtr<T: Real>(x: T) -> T {
    let x = x.wide();
    T::of(if T::LENIENT { 0.5 * erfc_short(-x * FRAC_1_SQRT_2) } else { ndtr_double(x) })
}

#[inline(always)]
fn ndtr_double(x: f64) -> f64 {
    let a = x.abs();
    let a = select(a > 38.6, 38.6, a);
    // e^(-a^2 / 2) erfcx(a / sqrt 2) / 2 in the tails: the square is exact, so the far tail is.
    let (s, s_low) = exact_product(a, a);
    let tail = 0.5 * damped((0.5 * s, 0.5 * s_low), erfcx_parts(a * FRAC_1_SQRT_2));
    let near = 0.5 * erfc_double(-x * FRAC_1_SQRT_2);
    select(a < 0.75, near, select(x < 0.0, tail, 1.0 - tail))
}

/// `log(ndtr(x))`, accurate in both tails.
///
/// ```
/// assert_eq!(wengert_kernels::math::log_ndtr(0.0f64), -std::f64::consts::LN_2);
/// ```
pub fn log_ndtr<T: Real>(x: T) -> T {
    let x = x.wide();
    T::of(if x < -1.0 { log(0.5 * erfcx_double(-x * FRAC_1_SQRT_2)) - 0.5 * x * x } else { log1p(-ndtr_double(-x)) })
}

/// The `x >= 0` with `erfc(x) = q`, for `q` in `(0, 1]`.
///
/// Newton's iteration on `log erfc`, which is nearly a parabola, from an approximation with two correct digits (Winitzki).
fn erfc_inverse(q: f64) -> f64 {
    if q == 0.0 {
        return f64::INFINITY;
    }
    let target = log(q);
    let b = 2.0 / (std::f64::consts::PI * 0.147) + 0.5 * (target + std::f64::consts::LN_2);
    // Never zero, because Newton's step would leave the domain there.
    let mut x = ((b * b - target / 0.147 - std::f64::consts::LN_2 / 0.147).max(0.0).sqrt() - b).max(1e-6).sqrt();
    for _ in 0..8 {
        let scaled = erfcx_double(x);
        let step = (log(scaled) - x * x - target) * scaled * (1.0 / std::f64::consts::FRAC_2_SQRT_PI);
        x += step;
        if step.abs() < 1e-9 * x {
            break;
        }
    }
    x
}

fn erfinv_double(y: f64) -> f64 {
    let a = y.abs();
    if a.is_nan() || a > 1.0 {
        return f64::NAN;
    }
    if a > 0.5 {
        return erfc_inverse(1.0 - a).copysign(y);
    }
    // Halley's iteration on erf, from two terms of the series.
    let mut x = a / std::f64::consts::FRAC_2_SQRT_PI;
    x += x * x * x / 3.0;
    for _ in 0..4 {
        let step = (erf(x) - a) / (std::f64::consts::FRAC_2_SQRT_PI * exp(-x * x));
        x -= step / (1.0 + x * step);
    }
    x.copysign(y)
}

/// The inverse of [`erf`]; infinite at `-1` and `1`, NaN beyond.
///
/// ```
/// assert_eq!(wengert_kernels::math::erfinv(1.0f64), f64::INFINITY);
/// ```
pub fn erfinv<T: Real>(y: T) -> T {
    T::of(erfinv_double(y.wide()))
}

/// The inverse of [`ndtr`]; infinite at zero and one, NaN outside.
///
/// ```
/// assert_eq!(wengert_kernels::math::ndtri(0.5f64), 0.0);
/// ```
pub fn ndtri<T: Real>(p: T) -> T {
    let p = p.wide();
    let root = std::f64::consts::SQRT_2;
    T::of(if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if p < 0.25 {
        -root * erfc_inverse(2.0 * p)
    } else {
        root * erfinv_double(2.0 * p - 1.0)
    })
}
