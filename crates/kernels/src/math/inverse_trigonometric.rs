//! Arcsine, arccosine and arctangent.
//!
//! `asin(x) = x + x^3 P(x^2)` up to one half; above, `asin(x) = pi/2 - 2 asin(sqrt((1-x)/2))`, whose radicand is exact and whose root
//! carries its own rounding error along. The arctangent of a quotient is rotated by a multiple of `pi/4` until the quotient is below
//! `tan(pi/8)`; the single division carries its remainder along.
//!
//! Measured error below 1 ulp.

use super::real::{Arithmetic, Real, exact_product, exact_sum, exact_sum_ordered, select};

/// `(r, p)` with `asin(|x|) = r + p` up to one half, and above it `asin(sqrt((1-|x|)/2)) = r + p`.
#[inline(always)]
fn asin_parts<T: Arithmetic>(a: T) -> (T, T) {
    let (half, zero) = (T::of(0.5), T::of(0.0));
    let low = a <= half;
    let radicand = (T::of(1.0) - a) * half;
    let root = radicand.sqrt();
    let (square, error) = exact_product(root, root);
    // (t - root^2) / (2 root), the rounding error of the root.
    let rest = ((radicand - square) - error) / (root + root);
    let z = select(low, a * a, radicand);
    let r = select(low, a, root);
    let rest = select(low | (root == zero), zero, rest);
    (r, rest + r * z * T::asin_tail(z))
}

/// The arcsine, in `[-pi/2, pi/2]`; NaN outside `[-1, 1]`.
///
/// ```
/// assert_eq!(wengert_kernels::math::asin(1.0f64), std::f64::consts::FRAC_PI_2);
/// ```
#[inline(always)]
pub fn asin<T: Real>(x: T) -> T {
    let a = x.abs();
    let (r, p) = asin_parts(a);
    let (high, low) = T::HALF_PI;
    let two = T::of(2.0);
    let (sum, error) = exact_sum_ordered(high, -two * r);
    let y = select(a <= T::of(0.5), r + p, sum + (error + (low - two * p)));
    y.copysign(x)
}

/// The arccosine, in `[0, pi]`; NaN outside `[-1, 1]`.
///
/// ```
/// assert_eq!(wengert_kernels::math::acos(-1.0f64), std::f64::consts::PI);
/// ```
#[inline(always)]
pub fn acos<T: Real>(x: T) -> T {
    let a = x.abs();
    let (zero, two) = (T::of(0.0), T::of(2.0));
    let (r, p) = asin_parts(a);
    let inner = a <= T::of(0.5);
    let negative = x < zero;
    // pi/2 -+ (r + p) in the middle; 2 (r + p) near 1; pi - 2 (r + p) near -1.
    let count = select(inner, T::of(1.0), select(negative, two, zero));
    let factor = select(inner, T::of(1.0), two);
    let factor = select(inner == negative, factor, -factor);
    let (high, low) = (count * T::HALF_PI.0, count * T::HALF_PI.1);
    let (sum, error) = exact_sum(high, factor * r);
    sum + (error + (low + factor * p))
}

/// `atan(y / x)` for nonnegative `x` and `y`, in `[0, pi/2]`.
#[inline(always)]
fn quotient_angle<T: Arithmetic>(y: T, x: T) -> T {
    let zero = T::of(0.0);
    let steep = y > x * T::of(2.414_213_562_373_095);
    let flat = y < x * T::of(0.414_213_562_373_095_1);
    let (difference, difference_error) = exact_sum(y, -x);
    let (sum, sum_error) = exact_sum(y, x);
    let numerator = select(flat, y, select(steep, -x, difference));
    let denominator = select(flat, x, select(steep, y, sum));
    let outer = flat | steep;
    let numerator_error = select(outer, zero, difference_error);
    let denominator_error = select(outer, zero, sum_error);
    let q = numerator / denominator;
    let (product, error) = exact_product(q, denominator);
    let rest = (((numerator - product) - error) + (numerator_error - q * denominator_error)) / denominator;
    let z = q * q;
    // A tiny quotient is its own arctangent, and its remainder may have underflowed.
    let rest = select(q.abs() < T::of(1e-10), zero, rest);
    let tail = rest + q * z * T::atan_tail(z);
    let turns = select(flat, zero, select(steep, T::of(1.0), T::of(0.5)));
    let (high, error) = exact_sum_ordered(turns * T::HALF_PI.0, q);
    high + (error + (tail + turns * T::HALF_PI.1))
}

/// The arctangent, in `[-pi/2, pi/2]`.
///
/// ```
/// assert_eq!(wengert_kernels::math::atan(1.0f64), std::f64::consts::FRAC_PI_4);
/// ```
#[inline(always)]
pub fn atan<T: Real>(x: T) -> T {
    let a = x.abs();
    // From 2^64 on the angle is pi/2, and the products of the formula stay finite.
    let large = T::of(18_446_744_073_709_551_616.0);
    quotient_angle(select(a > large, large, a), T::of(1.0)).copysign(x)
}

/// The angle of the point `(x, y)`, in `[-pi, pi]`, with the signs of zeros and the infinities of IEEE 754.
///
/// ```
/// assert_eq!(wengert_kernels::math::atan2(-0.0f64, -1.0), -std::f64::consts::PI);
/// ```
#[inline(always)]
pub fn atan2<T: Real>(y: T, x: T) -> T {
    let (zero, one) = (T::of(0.0), T::of(1.0));
    let infinity = T::of(f64::INFINITY);
    let (a, b) = (y.abs(), x.abs());
    // Equal infinities and equal zeros: the angle of (1, 1) and of (1, 0).
    let both = (a == infinity) & (b == infinity);
    let none = (a == zero) & (b == zero);
    let (a, b) = (select(both, one, a), select(both | none, one, b));
    // The sum must not overflow, nor the remainder of the division underflow: scale both by a power of two.
    let larger = select(a > b, a, b);
    let raised = T::of(1_267_650_600_228_229_401_496_703_205_376.0);
    let scale = select(larger < T::MIN_NORMAL * raised, raised, one);
    let scale = select(larger * T::of(4.0) == infinity, T::of(0.25), scale);
    let (a, b) = (a * scale, b * scale);
    let angle = quotient_angle(a, b);
    // x < 0, including -0.
    let behind = one.copysign(x) < zero;
    let (high, low) = (T::of(2.0) * T::HALF_PI.0, T::of(2.0) * T::HALF_PI.1);
    let turned = (high - angle) + low;
    let angle = select(x.is_nan() | y.is_nan(), x + y, select(behind, turned, angle));
    angle.copysign(y)
}
