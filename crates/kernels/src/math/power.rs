//! Powers and roots.
//!
//! `powf` in `f64` computes `log2(x)` as a sum of two numbers (relative error `2^-64`), multiplies by `y` exactly and splits the product
//! into an exponent and a fraction; in `f32` it is `e^(y log x)` computed in `f64`. `powi` squares repeatedly in double-double arithmetic
//! with a separate exponent, so its error does not grow with `n`. `cbrt` ends with Halley's iteration from a root whose square is exact.
//!
//! Measured error below 1.5 ulp.

use super::coefficients::double;
use super::exponential::{power_of_two, scale};
use super::real::{Arithmetic, Real, exact_product, exact_sum, exact_sum_ordered, polynomial, select};
use crate::map::loop1;

/// The square root, correctly rounded; NaN below zero.
///
/// ```
/// assert_eq!(wengert_kernels::math::sqrt(2.25f32), 1.5);
/// ```
#[inline(always)]
pub fn sqrt<T: Real>(x: T) -> T {
    x.sqrt()
}

/// `1 / sqrt(x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::rsqrt(4.0f64), 0.5);
/// ```
#[inline(always)]
pub fn rsqrt<T: Real>(x: T) -> T {
    T::of(1.0) / x.sqrt()
}

/// The cube root.
///
/// ```
/// assert_eq!(wengert_kernels::math::cbrt(-27.0f64), -3.0);
/// ```
#[inline(always)]
pub fn cbrt<T: Real>(x: T) -> T {
    T::of(cbrt_wide::<T>(x.wide()))
}

#[inline(always)]
fn cbrt_wide<T: Real>(x: f64) -> f64 {
    let a = x.abs();
    let tiny = a < f64::MIN_POSITIVE;
    let (k, m) = select(tiny, a * 18_014_398_509_481_984.0, a).split();
    // Half of the range is below one; scale to [1, 2).
    let below = m < 1.0;
    let (k, m) = (select(below, k - 1.0, k), select(below, m + m, m));
    let third = (k * (1.0 / 3.0) - 1.0 / 3.0 + f64::MAGIC) - f64::MAGIC;
    let j = k - 3.0 * third;
    let (one, two) = (j == 1.0, j == 2.0);
    let radicand = m * select(two, 4.0, select(one, 2.0, 1.0));
    let start = polynomial!(m; 0.5092481335492415, 0.7117423866025924, -0.2939541180848237, 0.08307903547963541,
        -0.010102212336338642);
    let t = start * select(two, 1.5874010519681996, select(one, 1.2599210498948732, 1.0));
    let t = (t + t + radicand / (t * t)) * (1.0 / 3.0);
    let t = if T::LENIENT {
        t
    } else {
        let t = t.high();
        let r = radicand / (t * t);
        t + t * ((r - t) / (t + t + r))
    };
    let third = third - select(tiny, 18.0, 0.0);
    let y = t * power_of_two(third);
    select((a > 0.0) & (a < f64::INFINITY), y.copysign(x), x)
}

/// `log2(x)` of a positive number as a sum of two numbers.
#[inline(always)]
fn log2_parts(x: f64) -> (f64, f64) {
    const TWO_THIRDS: (f64, f64) = (0.666_666_666_666_666_6, 3.700_743_415_417_188e-17);
    const LOG2_E: (f64, f64) = (std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17);
    let tiny = x < f64::MIN_POSITIVE;
    let (k, m) = select(tiny, x * 18_014_398_509_481_984.0, x).split();
    let k = k - select(tiny, 54.0, 0.0);
    let f = m - 1.0;
    // s = f / (2 + f)
    let (d, d_low) = exact_sum_ordered(2.0, f);
    let inverse = 1.0 / d;
    let s = f * inverse;
    let (p, e) = exact_product(s, d);
    let s_low = (((f - p) - e) - s * d_low) * inverse;
    // v = z (2/3 + z Q(z)), z = s^2
    let (z, e) = exact_product(s, s);
    let z_low = e + 2.0 * s * s_low;
    let (u, e) = exact_sum_ordered(TWO_THIRDS.0, z * double::log_second_tail(z));
    let u_low = e + TWO_THIRDS.1;
    let (v, e) = exact_product(z, u);
    let v_low = e + (z * u_low + z_low * u);
    // log(m) = s (2 + v)
    let (w, e) = exact_sum_ordered(2.0, v);
    let w_low = e + v_low;
    let (l, e) = exact_product(s, w);
    let l_low = e + (s * w_low + s_low * w);
    let (g, e) = exact_product(l, LOG2_E.0);
    let g_low = e + (l * LOG2_E.1 + l_low * LOG2_E.0);
    let (h, e) = exact_sum_ordered(k, g);
    exact_sum_ordered(h, e + g_low)
}

/// `x^y` for `x > 0` and finite `x` and `y`.
#[inline(always)]
fn positive_power(x: f64, y: f64) -> f64 {
    const LN_2: (f64, f64) = (std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
    let (high, low) = log2_parts(x);
    let (p, e) = exact_product(y, high);
    let p_low = e + y * low;
    let far = p.abs() > 2000.0;
    let p_low = select(far, 0.0, p_low);
    let p = select(p > 1025.0, 1025.0, p);
    let p = select(p < -1080.0, -1080.0, p);
    let n = (p + f64::MAGIC) - f64::MAGIC;
    let f = p - n;
    let (r, e) = exact_product(f, LN_2.0);
    // Renormalised: the tail must be small relative to r for e^(r + tail) = e^r + tail.
    let (r, tail) = exact_sum(r, e + (f * LN_2.1 + p_low * LN_2.0));
    let one_and_r = 1.0 + r;
    let low = (r - (one_and_r - 1.0)) + (tail + r * r * f64::exp_tail(r));
    scale(one_and_r + low, n)
}

/// `x^y` for `x > 0` to the precision of `f32`.
#[inline(always)]
fn short_power(x: f64, y: f64) -> f64 {
    let (k, m) = x.split();
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let p = y * (k + (s + s + s * z * f64::log_tail(z)) * std::f64::consts::LOG2_E);
    // Zero and infinity in f32.
    let p = select(p > 200.0, 200.0, p);
    let p = select(p < -200.0, -200.0, p);
    let n = (p + f64::MAGIC) - f64::MAGIC;
    let r = (p - n) * std::f64::consts::LN_2;
    (1.0 + (r + r * r * f64::exp_tail(r))) * power_of_two(n)
}

/// `x^y`, with the special values of IEEE 754: `x^0 = 1^y = 1`, NaN for a negative base and a fractional exponent.
///
/// ```
/// use wengert_kernels::math::powf;
/// assert_eq!(powf(2.0f64, 0.5), std::f64::consts::SQRT_2);
/// assert_eq!(powf(-2.0f32, 3.0), -8.0);
/// ```
#[inline(always)]
pub fn powf<T: Real>(x: T, y: T) -> T {
    T::of(powf_wide::<T>(x.wide(), y.wide()))
}

#[inline(always)]
fn powf_wide<T: Real>(x: f64, y: f64) -> f64 {
    const INTEGERS: f64 = 4_503_599_627_370_496.0;
    let (a, b) = (x.abs(), y.abs());
    let value = if T::LENIENT { short_power(a, y) } else { positive_power(a, y) };
    // From 2^52 on every number is an integer, from 2^53 on an even one.
    let shifted = b + INTEGERS;
    let small = b < INTEGERS;
    let whole = !small | (shifted - INTEGERS == b);
    let odd = (select(small, shifted, b).to_bits() & 1 != 0) & (b < 2.0 * INTEGERS) & whole;
    let large = f64::INFINITY;
    let grows = (a > 1.0) == (y > 0.0);
    let limit = select(grows, large, 0.0);
    let value = select((a == 0.0) | (a == large) | (b == large), limit, value);
    let value = select((b == large) & (a == 1.0), 1.0, value);
    let negative = x < 0.0;
    let value = select(negative & !whole & (a < large), f64::NAN, value);
    let sign = select(odd, x, 1.0);
    let value = value.copysign(sign);
    let value = select(x.is_nan() | y.is_nan(), x + y, value);
    select((y == 0.0) | (x == 1.0), 1.0, value)
}

/// `x^n`; by products for n from -1 to 4, else as [`powf`].
///
/// ```
/// use wengert_kernels::math::powi;
/// assert_eq!(powi(-3.0f64, 3), -27.0);
/// assert_eq!(powi(2.0f32, -1), 0.5);
/// ```
#[inline(always)]
pub fn powi<T: Real>(x: T, n: i64) -> T {
    match small_power(x, n) {
        Some(y) => y,
        None => T::of(powf_wide::<T>(x.wide(), n as f64)),
    }
}

/// `out[i] = x[i]^n`, vectorised for exponents from -1 to 4. Panics unless the lengths are equal.
///
/// The results are those of [`powi`], bit for bit.
///
/// ```
/// let mut y = [0.0; 2];
/// wengert_kernels::math::powi_slice(&[2.0f64, -3.0], 3, &mut y);
/// assert_eq!(y, [8.0, -27.0]);
/// ```
pub fn powi_slice<T: Real>(x: &[T], n: i64, out: &mut [T]) {
    match n {
        -1 => loop1(x, out, |x| T::of(1.0) / x),
        0 => loop1(x, out, |_| T::of(1.0)),
        1 => loop1(x, out, |x| x),
        2 => loop1(x, out, |x| x * x),
        3 => loop1(x, out, |x| x * x * x),
        4 => loop1(x, out, |x| (x * x) * (x * x)),
        _ => loop1(x, out, |x| powi(x, n)),
    }
}

/// The exponents that need at most two products.
#[inline(always)]
fn small_power<T: Arithmetic>(x: T, n: i64) -> Option<T> {
    match n {
        -1 => Some(T::of(1.0) / x),
        0 => Some(T::of(1.0)),
        1 => Some(x),
        2 => Some(x * x),
        3 => Some(x * x * x),
        4 => Some((x * x) * (x * x)),
        _ => None,
    }
}

/// `sqrt(x^2 + y^2)` without overflow; infinite if either is infinite.
///
/// ```
/// assert_eq!(wengert_kernels::math::hypot(3e300f64, 4e300), 5e300);
/// ```
#[inline(always)]
pub fn hypot<T: Real>(x: T, y: T) -> T {
    let (a, b, one) = (x.abs(), y.abs(), T::of(1.0));
    let infinity = T::of(f64::INFINITY);
    let larger = select(a > b, a, b);
    // Scaled by powers of two so that the square of the larger one is normal; the smaller one may underflow then.
    let small = T::MIN_NORMAL.sqrt();
    let (up, down) = (larger < small, larger > T::of(0.25) / small);
    let shrink = small * T::of(1.0 / 256.0);
    let factor = select(up, one / T::MIN_NORMAL, select(down, shrink, one));
    let back = select(up, T::MIN_NORMAL, select(down, one / shrink, one));
    let (p, q) = (a * factor, b * factor);
    let y = (p * p + q * q).sqrt() * back;
    select((a == infinity) | (b == infinity), infinity, y)
}
