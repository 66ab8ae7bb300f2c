//! Sine, cosine and tangent.
//!
//! `x = n pi/2 + r`, `|r| <= pi/4`, then two short polynomials, of which the quadrant `n mod 4` selects one. Up to `NEAR` the quotient has
//! 20 bits, so its products with 33-bit pieces of `pi/2` are exact (Cody and Waite). For `f64`, four pieces are enough even for the number
//! nearest to a multiple of `pi/2`; for `f32`, two pieces in `f64` are enough. Beyond `NEAR`, `x` is multiplied by the relevant bits of
//! `2/pi` (Payne and Hanek), in integer arithmetic.
//!
//! That second method is a call, and a loop around a call does not vectorise. So the slice functions test a tile first and use the
//! straight-line formula if every argument is near. The results are those of the scalar functions, bit for bit.
//!
//! The measured error is below 1 ulp for sine and cosine (`f32`: 1.5) and below 1.5 for the tangent (`f32`: 2.5), for arguments of any
//! size.

use super::real::{Arithmetic, Real, exact_product, exact_sum_ordered, select};

/// The largest argument that is reduced without a branch.
pub(super) const NEAR: f64 = 1.6e6;

/// `pi/2` in pieces of 33 bits, and the remainder.
const PIECES: [f64; 4] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32];

#[inline(always)]
pub(super) fn quarter_turns_double(x: f64) -> (f64, Option<f64>, u32) {
    let sum = x * std::f64::consts::FRAC_2_PI + f64::MAGIC;
    let n = sum - f64::MAGIC;
    // If the first operand is smaller, it is a multiple of the last place of the second, so both sums are as exact as ordered ones.
    let (a, a_error) = exact_sum_ordered(x - n * PIECES[0], -(n * PIECES[1]));
    let (b, b_error) = exact_sum_ordered(a, -(n * PIECES[2]));
    let (r, tail) = exact_sum_ordered(b, (a_error - n * PIECES[3]) + b_error);
    (r, Some(tail), sum.to_bits() as u32)
}

#[inline(always)]
pub(super) fn quarter_turns_single(x: f32) -> (f32, Option<f32>, u32) {
    let x = x as f64;
    let sum = x * std::f64::consts::FRAC_2_PI + f64::MAGIC;
    let n = sum - f64::MAGIC;
    let r = (x - n * PIECES[0]) - n * (PIECES[1] + PIECES[2]);
    (r as f32, None, sum.to_bits() as u32)
}

/// `sin(r + tail)` for `|r| <= pi/4`, as a sum of two numbers.
#[inline(always)]
fn sin_parts<T: Arithmetic>(r: T, tail: Option<T>) -> (T, T) {
    let z = r * r;
    let rest = r * z * T::sin_tail(z);
    (r, tail.map_or(rest, |tail| tail * (T::of(1.0) - T::of(0.5) * z) + rest))
}

/// `cos(r + tail)` for `|r| <= pi/4`, as a sum of two numbers.
#[inline(always)]
fn cos_parts<T: Arithmetic>(r: T, tail: Option<T>) -> (T, T) {
    let z = r * r;
    let half = T::of(0.5) * z;
    let high = T::of(1.0) - half;
    let rest = z * z * T::cos_tail(z);
    (high, ((T::of(1.0) - high) - half) + tail.map_or(rest, |tail| rest - r * tail))
}

#[inline(always)]
pub(super) fn sin_near<T: Arithmetic>(r: T, tail: Option<T>) -> T {
    let (high, low) = sin_parts(r, tail);
    high + low
}

#[inline(always)]
pub(super) fn cos_near<T: Arithmetic>(r: T, tail: Option<T>) -> T {
    let (high, low) = cos_parts(r, tail);
    high + low
}

/// `sin(x + quarter pi/2)` from a reduced argument.
#[inline(always)]
fn wave<T: Arithmetic>((r, tail, n): (T, Option<T>, u32), quarter: u32) -> T {
    let n = n.wrapping_add(quarter);
    let value = select(n & 1 == 0, sin_near(r, tail), cos_near(r, tail));
    select(n & 2 == 0, value, -value)
}

#[inline(always)]
pub(super) fn slope<T: Arithmetic>((r, tail, n): (T, Option<T>, u32)) -> T {
    let (s, s_low) = sin_parts(r, tail);
    let (c, c_low) = cos_parts(r, tail);
    let ((s, s_low), (c, c_low)) = (exact_sum_ordered(s, s_low), exact_sum_ordered(c, c_low));
    let even = n & 1 == 0;
    let (a, b) = (select(even, s, -c), select(even, c, s));
    let (a_low, b_low) = (select(even, s_low, -c_low), select(even, c_low, s_low));
    // The rounding errors of the two sums, carried through the division.
    let q = a / b;
    q + (a_low - q * b_low) / b
}

/// `sin` for `|x|` up to `NEAR`; NaN propagates.
#[inline(always)]
pub(super) fn near_sin<T: Real>(x: T) -> T {
    select(x == T::of(0.0), x, wave(x.quarter_turns(), 0))
}

#[inline(always)]
pub(super) fn near_cos<T: Real>(x: T) -> T {
    wave(x.quarter_turns(), 1)
}

#[inline(always)]
pub(super) fn near_tan<T: Real>(x: T) -> T {
    select(x == T::of(0.0), x, slope(x.quarter_turns()))
}

#[inline(always)]
pub(super) fn is_far<T: Real>(x: T) -> bool {
    x.abs() > T::of(NEAR)
}

// Cold functions stay calls; `#[inline]` shows callers in other crates that they touch no memory.
#[cold]
#[inline]
fn far_wave(x: f64, quarter: u32) -> f64 {
    wave(far_turns(x), quarter)
}

#[cold]
#[inline]
fn far_slope(x: f64) -> f64 {
    slope(far_turns(x))
}

/// The sine; NaN for infinities. For slices see [`sin_slice`](super::sin_slice).
///
/// ```
/// use wengert_kernels::math::sin;
/// assert_eq!(sin(0.5f64), 0.479425538604203);
/// assert_eq!(sin(1e22f64), -0.8522008497671888);
/// ```
#[inline(always)]
pub fn sin<T: Real>(x: T) -> T {
    if is_far(x) { T::of(far_wave(x.wide(), 0)) } else { near_sin(x) }
}

/// The cosine; NaN for infinities. For slices see [`cos_slice`](super::cos_slice).
///
/// ```
/// assert_eq!(wengert_kernels::math::cos(0.0f64), 1.0);
/// ```
#[inline(always)]
pub fn cos<T: Real>(x: T) -> T {
    if is_far(x) { T::of(far_wave(x.wide(), 1)) } else { near_cos(x) }
}

/// The tangent; NaN for infinities. For slices see [`tan_slice`](super::tan_slice).
///
/// ```
/// assert_eq!(wengert_kernels::math::tan(0.25f64), 0.25534192122103627);
/// ```
#[inline(always)]
pub fn tan<T: Real>(x: T) -> T {
    if is_far(x) { T::of(far_slope(x.wide())) } else { near_tan(x) }
}

/// `sin(pi x)`, for the special functions: exact zeros at the integers.
pub(super) fn sin_pi(x: f64) -> f64 {
    let doubled = (2.0 * x).round();
    let (r, tail) = times_half_pi(2.0 * x - doubled, 0.0);
    // From 2^52 on every number is an integer; the quotient is reduced modulo four before the conversion.
    wave((r, Some(tail), (doubled - 4.0 * (doubled * 0.25).floor()) as u32), 0)
}

/// `pi / tan(pi x)`.
pub(super) fn pi_cot_pi(x: f64) -> f64 {
    let f = x - x.round();
    let (r, tail) = times_half_pi(2.0 * f, 0.0);
    // |r| <= pi/2: half of it is in the range of the polynomials; cot(2a) = (cos^2 - sin^2) / (2 sin cos).
    let (r, tail) = (0.5 * r, Some(0.5 * tail));
    let (s, c) = (sin_near(r, tail), cos_near(r, tail));
    std::f64::consts::PI * ((c - s) * (c + s)) / (2.0 * s * c)
}

/// `(a + b) pi/2` as a sum of two numbers, for a small `b`.
#[inline]
fn times_half_pi(a: f64, b: f64) -> (f64, f64) {
    let (p, e) = exact_product(a, f64::HALF_PI.0);
    exact_sum_ordered(p, e + (a * f64::HALF_PI.1 + b * f64::HALF_PI.0))
}

/// One zero word, then the bits of `2/pi`, most significant first.
const TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// Remainder and quotient by `pi/2` of `|x| >= 2^20`, by Payne and Hanek.
///
/// `|x| = m 2^e`. Bits of `2/pi` whose product with `2^e` is a multiple of four do not matter; 192 of the others are multiplied by `m`
/// modulo `2^192`. The upper two bits are the quotient modulo four, the rest is its fraction.
#[inline]
fn far_turns(x: f64) -> (f64, Option<f64>, u32) {
    if !x.is_finite() {
        return (f64::NAN, None, 0);
    }
    let bits = x.to_bits() & (u64::MAX >> 1);
    let exponent = (bits >> 52) as i32 - 1075;
    let m = (bits & ((1 << 52) - 1)) | (1 << 52);
    let start = (64 + exponent - 2) as usize;
    let (word, shift) = (start / 64, start % 64);
    let window = |i: usize| {
        let [high, low] = [i, i + 1].map(|i| *TWO_OVER_PI.get(word + i).unwrap_or(&0) as u128);
        ((high << 64 | low) << shift >> 64) as u64 as u128
    };
    let m = m as u128;
    let low = m * window(2);
    let middle = m * window(1) + (low >> 64);
    let upper = (m * window(0)).wrapping_add(middle >> 64) as u64;
    let n = (upper >> 62) as u32;
    // The fraction of a quarter turn as 128 bits and 64 more, signed: from one half on, it is measured from the next quarter.
    let (middle, low) = (middle as u64, low as u64);
    let high = ((upper << 2 | middle >> 62) as u128) << 64 | (middle << 2 | low >> 62) as u128;
    let low = low << 2;
    let negative = high >> 127 == 1;
    let (high, low) = if negative { (!high, !low) } else { (high, low) };
    let zeros = high.leading_zeros();
    let top = if zeros == 0 { high } else { high << zeros | (low as u128) << 64 >> (128 - zeros) };
    let unit = f64::from_bits(((1023 - 53 - zeros as u64) & 0x7ff) << 52);
    let first = (top >> 75) as f64 * unit;
    let second = (top >> 22 & ((1 << 53) - 1)) as f64 * unit * f64::EPSILON * 0.5;
    let (r, tail) = times_half_pi(first, second);
    let turned = negative != (x < 0.0);
    let n = if negative { n + 1 } else { n };
    let n = if x < 0.0 { n.wrapping_neg() } else { n };
    if turned { (-r, Some(-tail), n) } else { (r, Some(tail), n) }
}
