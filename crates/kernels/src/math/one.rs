//! The functions for one number at a time, bitwise equal to the functions of the same name in [`math`](super).
//!
//! A loop evaluates both sides of every selection and all steps of a reduction. A single number waits for the longest dependency chain, so
//! these functions branch: an argument that needs no reduction skips it, and one that is not near a limit skips the limits.

use super::error_function::{near_erf, near_erfc};
use super::exponential::{exp2_parts, power_of_two, reduce, reduced_exp, reduced_expm1, sigmoid_of};
use super::hyperbolic::tanh_of;
use super::logarithm::{assemble, assemble_in_base, rounded_log1p};
use super::real::{Real, exact_sum};
use super::trigonometric::{cos_near, sin_near, slope};
use std::f64::consts::{FRAC_PI_4, LN_2};

/// The path of rare arguments. A cold call keeps it out of callers, and `#[inline]` shows them that it touches no memory, so their values
/// stay in registers.
#[cold]
#[inline]
fn rarely<T: Real>(function: impl Fn(T) -> T, x: T) -> T {
    function(x)
}

/// Below this, just less than `ln(2) / 2`, the exponent of `e^x` is zero.
const REDUCED: f64 = 0.3465;

/// See [`exp`](super::exp).
#[inline(always)]
pub fn exp<T: Real>(x: T) -> T {
    let a = x.abs();
    if a < T::of(REDUCED) {
        reduced_exp(x, T::of(-0.0))
    } else if a < T::of(-LN_2) * T::SMALL_EXPONENT {
        let (k, r, tail) = reduce(x);
        reduced_exp(r, tail) * power_of_two(k)
    } else {
        rarely(super::exp, x)
    }
}

/// See [`exp2`](super::exp2).
#[inline(always)]
pub fn exp2<T: Real>(x: T) -> T {
    if x.abs() < -T::SMALL_EXPONENT {
        let (p, k) = exp2_parts(x);
        p * power_of_two(k)
    } else {
        rarely(super::exp2, x)
    }
}

/// See [`expm1`](super::expm1).
#[inline(always)]
pub fn expm1<T: Real>(x: T) -> T {
    let a = x.abs();
    if a < T::of(1e-17) {
        x
    } else if a < T::of(REDUCED) {
        x + x * x * T::exp_tail(x)
    } else if a < T::of(45.0) {
        let (k, r, tail) = reduce(x);
        reduced_expm1(T::of(1.0) - power_of_two(-k), r, tail) * power_of_two(k)
    } else {
        rarely(super::expm1, x)
    }
}

/// See [`sigmoid`](super::sigmoid).
#[inline(always)]
pub fn sigmoid<T: Real>(x: T) -> T {
    sigmoid_of(x, exp(-x.abs()))
}

/// See [`tanh`](super::tanh).
#[inline(always)]
pub fn tanh<T: Real>(x: T) -> T {
    let a = x.abs();
    if a < T::of(22.0) { tanh_of(x, expm1(a + a)) } else { rarely(super::tanh, x) }
}

/// See [`sinh`](super::sinh).
#[inline(always)]
pub fn sinh<T: Real>(x: T) -> T {
    let (a, z) = (x.abs(), x * x);
    if a < T::of(1.0) { (a + a * z * T::sinh_tail(z)).copysign(x) } else { super::sinh(x) }
}

/// Whether the logarithm needs no limits here and the argument is not subnormal.
#[inline(always)]
fn is_normal<T: Real>(x: T) -> bool {
    (x >= T::MIN_NORMAL) & (x < T::of(f64::INFINITY))
}

/// `(k, f)` with `x = 2^k (1 + f)`, if `x` is normal.
#[inline(always)]
fn normal_parts<T: Real>(x: T) -> Option<(T, T)> {
    let (k, m) = x.split();
    is_normal(x).then_some((k, m - T::of(1.0)))
}

/// See [`log`](super::log).
#[inline(always)]
pub fn log<T: Real>(x: T) -> T {
    match normal_parts(x) {
        Some((k, f)) => assemble(k, f, T::of(-0.0)),
        None => rarely(super::log, x),
    }
}

/// See [`log2`](super::log2).
#[inline(always)]
pub fn log2<T: Real>(x: T) -> T {
    match normal_parts(x) {
        Some((k, f)) => assemble_in_base(k, f, (T::of(1.0), T::of(0.0)), T::LOG2_E),
        None => rarely(super::log2, x),
    }
}

/// See [`log10`](super::log10).
#[inline(always)]
pub fn log10<T: Real>(x: T) -> T {
    match normal_parts(x) {
        Some((k, f)) => assemble_in_base(k, f, T::LOG10_2, T::LOG10_E),
        None => rarely(super::log10, x),
    }
}

/// See [`log1p`](super::log1p).
#[inline(always)]
pub fn log1p<T: Real>(x: T) -> T {
    // 1 + x is between sqrt(1/2) and sqrt(2).
    if x.abs() < T::of(0.29) {
        return assemble(T::of(0.0), x, T::of(-0.0)).copysign(x);
    }
    let (u, error) = exact_sum(T::of(1.0), x);
    if is_normal(u) { rounded_log1p(x, u, error, T::of(-0.0)) } else { rarely(super::log1p, x) }
}

/// Whether the quotient by `pi/2` rounds to zero. Zero itself is handled elsewhere, to keep its sign.
#[inline(always)]
fn is_reduced<T: Real>(x: T) -> bool {
    (x.abs() < T::of(FRAC_PI_4)) & (x != T::of(0.0))
}

/// See [`sin`](super::sin).
#[inline(always)]
pub fn sin<T: Real>(x: T) -> T {
    if is_reduced(x) { sin_near(x, None) } else { super::sin(x) }
}

/// See [`cos`](super::cos).
#[inline(always)]
pub fn cos<T: Real>(x: T) -> T {
    if is_reduced(x) { cos_near(x, None) } else { super::cos(x) }
}

/// See [`tan`](super::tan).
#[inline(always)]
pub fn tan<T: Real>(x: T) -> T {
    if is_reduced(x) { slope((x, None, 0)) } else { super::tan(x) }
}

/// See [`asin`](super::asin).
#[inline(always)]
pub fn asin<T: Real>(x: T) -> T {
    let z = x * x;
    if x.abs() <= T::of(0.5) { x + x * z * T::asin_tail(z) } else { super::asin(x) }
}

/// See [`acos`](super::acos).
#[inline(always)]
pub fn acos<T: Real>(x: T) -> T {
    if x.abs() > T::of(0.5) {
        return super::acos(x);
    }
    let z = x * x;
    let (sum, error) = exact_sum(T::HALF_PI.0, -x);
    sum + (error + (T::HALF_PI.1 - x * z * T::asin_tail(z)))
}

/// See [`atan`](super::atan).
#[inline(always)]
pub fn atan<T: Real>(x: T) -> T {
    let z = x * x;
    if x.abs() < T::of(0.414) { (x + x * z * T::atan_tail(z)).copysign(x) } else { super::atan(x) }
}

/// See [`erf`](super::erf).
#[inline(always)]
pub fn erf<T: Real>(x: T) -> T {
    let a = x.abs();
    if a < T::ERF_NEAR { near_erf(x) } else { a.far_erf().copysign(x) }
}

/// See [`erfc`](super::erfc).
#[inline(always)]
pub fn erfc<T: Real>(x: T) -> T {
    let is_near = !T::LENIENT & (x.abs() < T::of(0.5));
    if is_near { T::of(near_erfc(x.wide())) } else { super::erfc(x) }
}
