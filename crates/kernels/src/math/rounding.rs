//! Rounding to integers and remainders of divisions. All results are exact.
//!
//! `fmod(x, y) = x - trunc(x/y) y` is one exact product while the quotient fits half a mantissa; larger quotients use the `%` of the
//! language, a call. As for the sine, the slice functions choose per tile.

use super::real::{Arithmetic, Real, exact_product, select};

/// The largest integer not above `x`.
///
/// ```
/// assert_eq!(wengert_kernels::math::floor(-0.5f32), -1.0);
/// ```
#[inline(always)]
pub fn floor<T: Real>(x: T) -> T {
    x.floor()
}

/// The smallest integer not below `x`.
///
/// ```
/// assert_eq!(wengert_kernels::math::ceil(0.5f32), 1.0);
/// ```
#[inline(always)]
pub fn ceil<T: Real>(x: T) -> T {
    x.ceil()
}

/// The nearest integer, ties to even.
///
/// ```
/// assert_eq!(wengert_kernels::math::round(2.5f32), 2.0);
/// ```
#[inline(always)]
pub fn round<T: Real>(x: T) -> T {
    x.round()
}

/// The integer part.
///
/// ```
/// assert_eq!(wengert_kernels::math::trunc(-1.5f32), -1.0);
/// ```
#[inline(always)]
pub fn trunc<T: Real>(x: T) -> T {
    x.trunc()
}

/// Whether the quotient is too long for `near_fmod`; true also for a zero, an infinity or NaN.
#[inline(always)]
pub(super) fn is_far<T: Real>(x: T, y: T) -> bool {
    let (a, b) = (x.abs(), y.abs());
    // Integers below half the square root of MAGIC fit half a mantissa.
    let limit = T::of(0.5) * T::MAGIC.sqrt();
    !((a < b * limit) & (a + a < T::of(f64::INFINITY)))
}

#[inline(always)]
pub(super) fn near_fmod<T: Arithmetic>(x: T, y: T) -> T {
    let (a, b) = (x.abs(), y.abs());
    let q = (a / b).trunc();
    let (product, error) = exact_product(q, b);
    // A quotient just below an integer may have been rounded up to it.
    let r = select(q == T::of(0.0), a, (a - product) - error);
    select(r < T::of(0.0), r + b, r).copysign(x)
}

/// `x - trunc(x/y) y`: the remainder with the sign of `x`; NaN for `y = 0`. For slices see [`fmod_slice`](super::fmod_slice).
///
/// ```
/// assert_eq!(wengert_kernels::math::fmod(-7.0f64, 3.0), -1.0);
/// ```
#[inline(always)]
pub fn fmod<T: Real>(x: T, y: T) -> T {
    if is_far(x, y) { x.rest(y) } else { near_fmod(x, y) }
}

/// Changes a remainder with the sign of the dividend to one with the sign of the divisor.
#[inline(always)]
fn turn<T: Arithmetic>(r: T, y: T) -> T {
    let zero = T::of(0.0);
    select((r != zero) & ((r < zero) != (y < zero)), r + y, r)
}

#[inline(always)]
pub(super) fn near_remainder<T: Arithmetic>(x: T, y: T) -> T {
    turn(near_fmod(x, y), y)
}

/// `x - floor(x/y) y`: the remainder with the sign of `y`, as in Python; NaN for `y = 0`. For slices see
/// [`remainder_slice`](super::remainder_slice).
///
/// ```
/// assert_eq!(wengert_kernels::math::remainder(-7.0f64, 3.0), 2.0);
/// ```
#[inline(always)]
pub fn remainder<T: Real>(x: T, y: T) -> T {
    turn(fmod(x, y), y)
}
