//! The operations that elementwise expressions are written in, for f64 and f32. Tensors and the scalar number types support the same
//! operations.

use crate::map::{loop1, loop1_in_place, loop2_in_place};
pub use crate::math::*;
pub use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LN_10};

/// 1 / x.
#[inline(always)]
pub fn recip<T: Real>(x: T) -> T {
    T::of(1.0) / x
}

/// A literal value.
#[inline(always)]
pub fn constant<T: Real>(value: f64) -> T {
    T::of(value)
}

/// x times a number.
#[inline(always)]
pub fn scale<T: Real>(x: T, factor: f64) -> T {
    x * T::of(factor)
}

/// x plus a number.
#[inline(always)]
pub fn shift<T: Real>(x: T, amount: f64) -> T {
    x + T::of(amount)
}

/// x divided by a number.
#[inline(always)]
pub fn over<T: Real>(x: T, divisor: f64) -> T {
    x / T::of(divisor)
}

/// Binds a value that the expression uses more than once.
#[inline(always)]
pub fn given<T: Real>(x: T, f: impl FnOnce(T) -> T) -> T {
    f(x)
}

/// The minimum of x and the border.
#[inline(always)]
pub fn at_most<T: Real>(x: T, border: f64) -> T {
    if x > T::of(border) { T::of(border) } else { x }
}

/// The absolute value.
#[inline(always)]
pub fn abs<T: Real>(x: T) -> T {
    x.abs()
}

/// x times itself.
#[inline(always)]
pub fn square<T: Real>(x: T) -> T {
    x * x
}

/// The argument itself, or NaN below the border: gradients outside a domain are NaN, like values.
#[inline(always)]
pub fn nan_below<T: Real>(x: T, border: f64) -> T {
    if x < T::of(border) { T::of(f64::NAN) } else { x }
}

/// The argument itself, or NaN where its absolute value exceeds the border.
#[inline(always)]
pub fn nan_beyond<T: Real>(x: T, border: f64) -> T {
    if x.abs() > T::of(border) { T::of(f64::NAN) } else { x }
}

/// -1, 0 or 1.
#[inline(always)]
pub fn sign<T: Real>(x: T) -> T {
    let zero = T::of(0.0);
    if x > zero {
        T::of(1.0)
    } else if x < zero {
        T::of(-1.0)
    } else {
        x
    }
}

/// `then` where x is above the border, else `other`.
#[inline(always)]
pub fn above<T: Real>(x: T, border: T, then: T, other: T) -> T {
    if x > border { then } else { other }
}

/// `here` where x is 0, else `other`.
#[inline(always)]
pub fn at_zero<T: Real>(x: T, here: T, other: T) -> T {
    if x == T::of(0.0) { here } else { other }
}

/// The subgradient of least magnitude between this slope and 1: the slope clamped to the range from 0 to 1.
#[inline(always)]
pub fn least_slope<T: Real>(slope: T) -> T {
    let (zero, one) = (T::of(0.0), T::of(1.0));
    let slope = if slope < zero { zero } else { slope };
    if slope > one { one } else { slope }
}

/// `inside` where x lies strictly between the borders, else `outside`.
#[inline(always)]
pub fn between<T: Real>(x: T, low: T, high: T, inside: T, outside: T) -> T {
    if (x > low) & (x < high) { inside } else { outside }
}

/// `inside` where x lies between the borders, inclusive, else `outside`.
#[inline(always)]
pub fn within<T: Real>(x: T, low: T, high: T, inside: T, outside: T) -> T {
    if (x >= low) & (x <= high) { inside } else { outside }
}

/// x / y, and 0 where both are 0.
#[inline(always)]
pub fn ratio<T: Real>(x: T, y: T) -> T {
    let zero = T::of(0.0);
    if (x == zero) & (y == zero) { zero } else { x / y }
}

/// x - y, and 0 for two equal infinities.
#[inline(always)]
pub fn gap<T: Real>(x: T, y: T) -> T {
    if x == y { T::of(0.0) } else { x - y }
}

/// The derivative of max(x, y) with respect to x for a constant lower bound y: 1 where x >= y, else 0.
#[inline(always)]
pub fn passes<T: Real>(x: T, y: T) -> T {
    if (x >= y) | x.is_nan() { T::of(1.0) } else { T::of(0.0) }
}

/// The derivative of max(x, y) with respect to x: 1 where x is larger, 1/2 where they are equal, else 0.
#[inline(always)]
pub fn share<T: Real>(x: T, y: T) -> T {
    let tie = if x == y { T::of(0.5) } else { T::of(1.0) };
    if x < y { T::of(0.0) } else { tie }
}

/// The same for a maximum that ignores NaN.
#[inline(always)]
pub fn share_of_numbers<T: Real>(x: T, y: T) -> T {
    let tie = if x == y { T::of(0.5) } else { T::of(0.0) };
    if (x > y) | y.is_nan() { T::of(1.0) } else { tie }
}

/// The density of the normal distribution.
#[inline(always)]
pub fn normal_density<T: Real>(x: T) -> T {
    exp(T::of(-0.5) * x * x) * T::of(DENSITY_AT_0)
}

/// The n-th derivative of digamma; n is an integer.
#[inline(always)]
pub fn polygamma<T: Real>(n: T, x: T) -> T {
    crate::math::polygamma(n.wide() as u32, x)
}

/// The slope of the cardinal sine: near 0 a polynomial, as the difference of cosine and value would cancel.
pub fn sinc_slope<T: Real>(x: T, y: T) -> T {
    let (x, y) = (x.wide(), y.wide());
    T::of(match x.abs() < SINC_NEAR {
        true => x * SINC_SERIES.iter().rev().fold(0.0, |sum, coefficient| sum * x * x + coefficient),
        false => (cos(std::f64::consts::PI * x) - y) / x,
    })
}

/// `out[i] = x[i] P(Z <= x[i])`.
pub fn gelu_slice<T: Real>(x: &[T], out: &mut [T]) {
    ndtr_slice(x, out);
    loop2_in_place(
        out,
        x,
        #[inline(always)]
        |p: T, x: T| x * p,
    );
}

/// The slopes of `gelu_slice`.
pub fn gelu_slope_slice<T: Real>(x: &[T], out: &mut [T]) {
    ndtr_slice(x, out);
    loop2_in_place(
        out,
        x,
        #[inline(always)]
        |p: T, x: T| p + at_most(x, 40.0) * normal_density(x),
    );
}

/// `out[i] = |x[i]|`.
pub fn abs_slice<T: Real>(x: &[T], out: &mut [T]) {
    loop1(
        x,
        out,
        #[inline(always)]
        |x: T| x.abs(),
    );
}

/// `out[i] = lgamma(x[i])`.
pub fn lgamma_slice<T: Real>(x: &[T], out: &mut [T]) {
    loop1(x, out, |x: T| lgamma(x));
}

/// `out[i] = -sin(x[i])`.
pub fn minus_sin_slice<T: Real>(x: &[T], out: &mut [T]) {
    sin_slice(x, out);
    loop1_in_place(out, |sine| -sine);
}

/// The same operations for one number at a time: the same bits, faster.
pub mod one {
    pub use super::*;
    pub use crate::math::one::{
        acos, asin, atan, cos, erf, erfc, exp, exp2, expm1, log, log1p, log2, log10, sigmoid, sin, sinh, tan, tanh,
    };
}

/// 1 / sqrt(2 pi)
pub const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;
/// sqrt(pi) / 2
pub const HALF_ROOT_OF_PI: f64 = 0.886_226_925_452_758;
/// sqrt(2 pi)
pub const ROOT_OF_TWO_PI: f64 = 2.506_628_274_631_000_5;
/// sqrt(2 / pi)
pub const ROOT_OF_TWO_BY_PI: f64 = 0.797_884_560_802_865_4;
/// 2 sqrt(2 / pi)
pub const GELU_FACTOR: f64 = 1.595_769_121_605_730_7;
/// The factor of the cube in the approximation of gelu.
pub const GELU_CUBIC: f64 = 0.044_715;
/// The slope of selu above 0.
pub const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// The scale times alpha, 1.6732632423543772.
pub const SELU_BELOW: f64 = SELU_SCALE * 1.673_263_242_354_377_2;

/// Below this the slope of the cardinal sine is a polynomial.
pub const SINC_NEAR: f64 = 0.3;

/// The coefficients of x^(2k + 1) in the slope of the cardinal sine: (-1)^(k + 1) (2k + 2) pi^(2k + 2) / (2k + 3)!.
pub const SINC_SERIES: [f64; 9] = {
    let mut all = [0.0; 9];
    let (mut k, mut power) = (0, 1.0);
    while k < 9 {
        let n = (2 * k + 2) as f64;
        // power = (-1)^k pi^(2k + 2) / (2k + 3)!
        power *= -std::f64::consts::PI * std::f64::consts::PI / (n * (n + 1.0));
        all[k] = n * power;
        k += 1;
    }
    all
};

/// The named constants of expressions.
pub const CONSTANTS: &[(&str, f64)] = &[
    ("LN_2", LN_2),
    ("LN_10", LN_10),
    ("FRAC_1_SQRT_2", FRAC_1_SQRT_2),
    ("FRAC_2_SQRT_PI", FRAC_2_SQRT_PI),
    ("HALF_ROOT_OF_PI", HALF_ROOT_OF_PI),
    ("ROOT_OF_TWO_PI", ROOT_OF_TWO_PI),
    ("ROOT_OF_TWO_BY_PI", ROOT_OF_TWO_BY_PI),
    ("GELU_FACTOR", GELU_FACTOR),
    ("GELU_CUBIC", GELU_CUBIC),
    ("SELU_SCALE", SELU_SCALE),
    ("SELU_BELOW", SELU_BELOW),
];
