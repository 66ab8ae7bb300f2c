//! The two types that the functions are written for, and the exact steps that they are built from.
//!
//! Everything here is straight-line code: a comparison selects between two computed values, exponents are changed with integer additions
//! and shifts, and an integer is read from the low bits of a sum with `1.5 * 2^52` (`2^23`). So a loop over any composition of these steps
//! vectorises at every level.
//!
//! There is no fused multiply-add: where a product must be exact, [`exact_product`] splits its factors by masking.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A floating-point type that the functions of this module accept: `f32` or `f64`.
///
/// Sealed: the constants and polynomials of each function are chosen for these two precisions.
///
/// ```
/// use wengert_kernels::math::{Real, exp};
/// fn growth<T: Real>(rate: T) -> T {
///     exp(rate)
/// }
/// assert_eq!((growth(0f32), growth(0f64)), (1.0, 1.0));
/// ```
pub trait Real: Arithmetic {}

impl Real for f32 {}
impl Real for f64 {}

/// The operations that a generic formula may use.
pub trait Arithmetic:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The smallest normal number.
    const MIN_NORMAL: Self;
    /// `1.5 * 2^(p-1)`: `x + MAGIC - MAGIC` rounds to an integer, whose low bits are those of `x + MAGIC`.
    const MAGIC: Self;
    /// `MAGIC` plus the exponent bias: the low bits of `MAGIC_EXPONENT + k` are the exponent field of `2^k`.
    const MAGIC_EXPONENT: Self;
    /// `ln 2` in two parts; `k * LN2_HIGH` is exact for every exponent `k`.
    const LN2_HIGH: Self;
    /// The remainder of `ln 2`.
    const LN2_LOW: Self;
    /// `log10 2`, split like `ln 2`.
    const LOG10_2: (Self, Self);
    /// `1 / ln 2` as half a mantissa and a remainder.
    const LOG2_E: (Self, Self);
    /// `1 / ln 10` as half a mantissa and a remainder.
    const LOG10_E: (Self, Self);
    /// `pi / 2` to twice the precision.
    const HALF_PI: (Self, Self);
    /// Below `EXP_LOW` the exponential is zero, above `EXP_HIGH` infinite.
    const EXP_LOW: Self;
    /// See `EXP_LOW`.
    const EXP_HIGH: Self;
    /// The boundary between two formulas of the error function.
    const ERF_NEAR: Self;
    /// `2^k` with `k` below this goes through a subnormal-safe scaling.
    const SMALL_EXPONENT: Self;

    /// Whether one more ulp of error is acceptable: the bound is 4 for `f32` and 2 for `f64`.
    const LENIENT: bool;

    /// A constant, rounded to this type.
    fn of(x: f64) -> Self;
    /// The same value in `f64`.
    fn wide(self) -> f64;
    /// Whether this is NaN.
    fn is_nan(self) -> bool;
    /// `|x|`.
    fn abs(self) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// `|self|` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// The largest integer not above `x`.
    fn floor(self) -> Self;
    /// The smallest integer not below `x`.
    fn ceil(self) -> Self;
    /// The nearest integer, ties to even.
    fn round(self) -> Self;
    /// The integer part.
    fn trunc(self) -> Self;
    /// The upper half of the mantissa, so that products of two such numbers are exact.
    fn high(self) -> Self;
    /// The low bits of a sum with `MAGIC_EXPONENT`, shifted into the exponent field.
    fn into_exponent(self) -> Self;
    /// `x * 2^64`, by changing only the exponent field.
    fn raise(self) -> Self;
    /// `(k, m)` with `x = 2^k m` and `m` in `[sqrt(1/2), sqrt(2))`, for positive normal `x`.
    fn split(self) -> (Self, Self);
    /// The remainder of `x / (pi/2)` with its tail, if that matters, and the quotient modulo four, for `|x|` up to `NEAR`.
    fn quarter_turns(self) -> (Self, Option<Self>, u32);

    /// `(e^r - 1 - r) / r^2` for `|r| <= ln(2) / 2`.
    fn exp_tail(r: Self) -> Self;
    /// `(log((1+s)/(1-s)) / s - 2) / z` with `z = s^2`, for `(1+s)/(1-s)` in `[sqrt(1/2), sqrt(2)]`.
    fn log_tail(z: Self) -> Self;
    /// `(sin(r) - r) / r^3` with `z = r^2`, for `|r| <= pi/4`.
    fn sin_tail(z: Self) -> Self;
    /// `(cos(r) - 1 + z/2) / z^2` with `z = r^2`, for `|r| <= pi/4`.
    fn cos_tail(z: Self) -> Self;
    /// `(asin(x) / x - 1) / z` with `z = x^2 <= 1/4`.
    fn asin_tail(z: Self) -> Self;
    /// `(atan(x) / x - 1) / z` with `z = x^2 <= tan(pi/8)^2`.
    fn atan_tail(z: Self) -> Self;
    /// `(sinh(x) / x - 1) / z` with `z = x^2 <= 1`.
    fn sinh_tail(z: Self) -> Self;

    /// `erf(x) / x - 1` with `z = x^2`, for `|x|` up to `ERF_NEAR`.
    fn erf_tail(z: Self) -> Self;
    /// See [`super::erf`], for `x` from `ERF_NEAR` on.
    fn far_erf(self) -> Self;
    /// The remainder `x % y` of the language.
    fn rest(self, y: Self) -> Self;
}

/// `yes` where the condition holds, else `no`; both are evaluated, so this is a blend and never a branch.
#[inline(always)]
pub(super) fn select<T: Copy>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// `(s, e)` with `s + e = a + b` exactly (Knuth).
#[inline(always)]
pub(super) fn exact_sum<T: Arithmetic>(a: T, b: T) -> (T, T) {
    let s = a + b;
    let from_b = s - a;
    (s, (a - (s - from_b)) + (b - from_b))
}

/// `exact_sum` for `|a| >= |b|` or `a = 0` (Dekker).
#[inline(always)]
pub(super) fn exact_sum_ordered<T: Arithmetic>(a: T, b: T) -> (T, T) {
    let s = a + b;
    (s, b - (s - a))
}

/// `(p, e)` with `p + e = a * b` up to the last bit of `e`, unless it overflows or underflows.
#[inline(always)]
pub(super) fn exact_product<T: Arithmetic>(a: T, b: T) -> (T, T) {
    let p = a * b;
    let (a_high, b_high) = (a.high(), b.high());
    let (a_low, b_low) = (a - a_high, b - b_high);
    (p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low)
}

/// `c0 + x c1 + x^2 c2 + ..` as a tree (Estrin): neighbours are combined with `x`, pairs with `x^2`, groups of four with `x^4`, so that the
/// latency grows with the logarithm of the degree. With five coefficients, the last one joins the second pair, which saves a product.
///
/// Fully unrolled, so that the compiler sees no loop.
macro_rules! polynomial {
    ($x:expr; $a:expr, $b:expr, $c:expr, $d:expr, $e:expr) => {{
        let x = $x;
        let square = x * x;
        ($a + x * $b) + square * (($c + x * $d) + square * $e)
    }};
    ($x:expr; $($c:expr),+ $(,)?) => {{
        let x = $x;
        polynomial!(@join x; []; $($c),+)
    }};
    (@join $x:ident; [$all:expr];) => { $all };
    (@join $x:ident; [$($joined:expr),+]; $($last:expr)?) => {{
        let square = $x * $x;
        polynomial!(@join square; []; $($joined),+ $(, $last)?)
    }};
    (@join $x:ident; [$($joined:expr),*]; $a:expr, $b:expr $(, $rest:expr)*) => {
        polynomial!(@join $x; [$($joined,)* $a + $x * $b]; $($rest),*)
    };
}
pub(super) use polynomial;
