//! The logarithm of the gamma function and its derivatives.
//!
//! `lgamma`: a polynomial times `(x-1)(x-2)` between 0.7 and 3, so that both zeros are exact; the recurrence below 13; Stirling's series
//! beyond. `digamma` and `trigamma`: the recurrence up to 10, then the asymptotic series; straight-line code for positive arguments.
//! `polygamma`: `(-1)^(n+1) n! zeta(n+1, x)`, with the Hurwitz zeta function by Euler-Maclaurin summation. Negative arguments use
//! reflection.
//!
//! The relative error is below `1e-14`, except near zeros other than 1 and 2, where the absolute error is that small. `f32` is computed in
//! `f64`.

use super::coefficients::double;
use super::logarithm::log;
use super::one;
use super::power::powi;
use super::real::{Real, polynomial};
use super::trigonometric::{pi_cot_pi, sin_pi};

fn is_integer(x: f64) -> bool {
    x.floor() == x
}

/// `log |Gamma(x)|`; infinite at zero, the negative integers and both infinities.
///
/// ```
/// use wengert_kernels::math::lgamma;
/// assert_eq!(lgamma(1.0f64), 0.0);
/// assert_eq!(lgamma(-3.0f64), f64::INFINITY);
/// ```
pub fn lgamma<T: Real>(x: T) -> T {
    T::of(lgamma_double(x.wide()))
}

fn lgamma_double(x: f64) -> f64 {
    if x.is_infinite() || (x <= 0.0 && is_integer(x)) {
        return f64::INFINITY;
    }
    if x < 0.0 {
        // Gamma(-a) = -pi / (a sin(pi a) Gamma(a))
        let a = -x;
        return one::log(std::f64::consts::PI / (a * sin_pi(a).abs())) - lgamma_double(a);
    }
    if x < 0.7 {
        return lgamma_double(1.0 + x) - one::log(x);
    }
    if x < 1.5 {
        // Adding zero turns -0 into 0.
        return (x - 1.0) * (x - 2.0) * double::lgamma_near_one(x - 1.1) + 0.0;
    }
    if x <= 3.0 {
        return (x - 1.0) * (x - 2.0) * double::lgamma_near_two(x - 2.25) + 0.0;
    }
    if x < 13.0 {
        let (mut y, mut product) = (x, 1.0);
        while y > 3.0 {
            y -= 1.0;
            product *= y;
        }
        return one::log(product) + lgamma_double(y);
    }
    let z = 1.0 / (x * x);
    // B_2k / (2k (2k - 1))
    let series = polynomial!(z; 0.083_333_333_333_333_33, -0.002_777_777_777_777_778, 0.000_793_650_793_650_793_7,
        -0.000_595_238_095_238_095_2, 0.000_841_750_841_750_841_8, -0.001_917_526_917_526_917_6,
        0.006_410_256_410_256_41)
        / x;
    const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;
    (x - 0.5) * (one::log(x) - 1.0) + ((HALF_LOG_TWO_PI - 0.5) + series)
}

/// The derivative of [`lgamma`]; `-inf` at `0`, `inf` at `-0`, NaN at the negative integers.
///
/// ```
/// use wengert_kernels::math::digamma;
/// assert!((digamma(1.0f64) + 0.5772156649015329).abs() < 1e-15);
/// assert_eq!(digamma(0.0f64), f64::NEG_INFINITY);
/// ```
pub fn digamma<T: Real>(x: T) -> T {
    if not_positive(x) { T::of(far_digamma(x.wide())) } else { near_digamma(x) }
}

/// Whether an argument needs reflection, or is NaN.
#[inline(always)]
pub(super) fn not_positive<T: Real>(x: T) -> bool {
    let positive = x > T::of(0.0);
    !positive
}

fn far_digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 && !is_integer(x) { near_digamma(1.0 - x) - pi_cot_pi(x) } else { f64::NAN }
}

/// The number of recurrence steps that bring every positive number to `FAR`, where the asymptotic series are accurate.
const STEPS: usize = 10;
const FAR: f64 = 10.0;

/// [`digamma`] of a positive number.
#[inline(always)]
pub(super) fn near_digamma<T: Real>(x: T) -> T {
    let (mut y, mut below) = (x.wide(), 0.0);
    for _ in 0..STEPS {
        let low = y < FAR;
        below += if low { 1.0 / y } else { 0.0 };
        y += if low { 1.0 } else { 0.0 };
    }
    let z = 1.0 / (y * y);
    // B_2k / 2k
    let series = z * polynomial!(z; 0.083_333_333_333_333_33, -0.008_333_333_333_333_333, 0.003_968_253_968_253_968,
        -0.004_166_666_666_666_667, 0.007_575_757_575_757_576, -0.021_092_796_092_796_094, 0.083_333_333_333_333_33);
    T::of((log(y) - (0.5 / y + series)) - below)
}

/// The derivative of [`digamma`]; infinite at zero and the negative integers.
///
/// ```
/// use wengert_kernels::math::trigamma;
/// let pi = std::f64::consts::PI;
/// assert!((trigamma(1.0f64) - pi * pi / 6.0).abs() < 1e-15);
/// assert_eq!(trigamma(-1.0f64), f64::INFINITY);
/// ```
pub fn trigamma<T: Real>(x: T) -> T {
    if not_positive(x) { T::of(hurwitz_zeta(2, x.wide())) } else { near_trigamma(x) }
}

/// [`trigamma`] of a positive number.
#[inline(always)]
pub(super) fn near_trigamma<T: Real>(x: T) -> T {
    let (mut y, mut below) = (x.wide(), 0.0);
    for _ in 0..STEPS {
        let low = y < FAR;
        let inverse = 1.0 / y;
        below += if low { inverse * inverse } else { 0.0 };
        y += if low { 1.0 } else { 0.0 };
    }
    let inverse = 1.0 / y;
    let z = inverse * inverse;
    // B_2k
    let series = z * polynomial!(z; 0.166_666_666_666_666_66, -0.033_333_333_333_333_33, 0.023_809_523_809_523_81,
        -0.033_333_333_333_333_33, 0.075_757_575_757_575_76, -0.253_113_553_113_553_1, 1.166_666_666_666_666_7,
        -7.092_156_862_745_098);
    T::of(below + (inverse * (0.5 * inverse + series) + inverse))
}

/// The `n`-th derivative of [`digamma`]; `polygamma(0, x)` is `digamma(x)`.
///
/// Poles are infinite with the sign of `(-1)^(n+1)`.
///
/// ```
/// use wengert_kernels::math::polygamma;
/// let pi = std::f64::consts::PI;
/// assert!((polygamma(1, 1.0f64) - pi * pi / 6.0).abs() < 1e-15);
/// ```
pub fn polygamma<T: Real>(n: u32, x: T) -> T {
    match n {
        0 => return digamma(x),
        1 => return trigamma(x),
        _ => {}
    }
    let wide = x.wide();
    let value = match n > MOST_FACTORIAL && wide > 0.0 {
        true => factorial_times_zeta(n, wide),
        false => (1..=n.min(200)).map(f64::from).product::<f64>() * hurwitz_zeta(n as i64 + 1, wide),
    };
    T::of(if n % 2 == 1 { value } else { -value })
}

/// The largest integer whose factorial is finite.
const MOST_FACTORIAL: u32 = 170;

/// `n! zeta(n + 1, q)` for a large n and a positive q, by logarithms, because one factor may be infinite where the product is not. The
/// relative error grows with the logarithms.
fn factorial_times_zeta(n: u32, q: f64) -> f64 {
    if q == f64::INFINITY {
        return 0.0;
    }
    let s = f64::from(n) + 1.0;
    // The sum of (1 + k/q)^-s. Few terms matter, unless q is much larger than s; then Euler-Maclaurin needs few.
    let sum = if q < 10.0 * s {
        let terms = (1..).map(|k| one::exp(-s * one::log1p(f64::from(k) / q)));
        1.0 + terms.take_while(|term| *term > 1e-18).sum::<f64>()
    } else {
        let (third, fifth) = (s * (s + 1.0) * (s + 2.0) / (q * q * q), (s + 3.0) * (s + 4.0) / (q * q));
        q / (s - 1.0) + 0.5 + s / (12.0 * q) - third / 720.0 + third * fifth / 30_240.0
    };
    one::exp(lgamma_double(s) - s * one::log(q) + one::log(sum))
}

/// The sum of `(q + k)^-s` over `k >= 0`, for an integer `s >= 2`.
fn hurwitz_zeta(s: i64, q: f64) -> f64 {
    if q.is_nan() || q == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if q > 0.0 {
        return hurwitz_zeta_positive(s, q);
    }
    if is_integer(q) {
        return f64::INFINITY;
    }
    // The sum over all integers k has period one in q; subtract the terms with k < 0.
    let f = q - q.round_ties_even();
    let sign = if s % 2 == 0 { 1.0 } else { -1.0 };
    let all = powi(f, -s) + (hurwitz_zeta_positive(s, 1.0 + f) + sign * hurwitz_zeta_positive(s, 1.0 - f));
    all - sign * hurwitz_zeta_positive(s, 1.0 - q)
}

/// B_2k / (2k)!
pub const BERNOULLI: [f64; 12] = [
    0.083_333_333_333_333_33,
    -0.001_388_888_888_888_889,
    3.306_878_306_878_307e-5,
    -8.267_195_767_195_768e-7,
    2.087_675_698_786_81e-8,
    -5.284_190_138_687_493e-10,
    1.338_253_653_068_467_9e-11,
    -3.389_680_296_322_582_7e-13,
    8.586_062_056_277_845e-15,
    -2.174_868_698_558_062e-16,
    5.509_002_828_360_23e-18,
    -1.395_446_468_581_252_4e-19,
];

fn hurwitz_zeta_positive(s: i64, q: f64) -> f64 {
    if q == f64::INFINITY {
        return 0.0;
    }
    let order = s as f64;
    // The series below needs its last term well beyond s.
    let end = 10.0 + order;
    let (mut a, mut sum) = (q, 0.0);
    while a < end {
        let term = inverse_power(a, s);
        if term == f64::INFINITY {
            return term;
        }
        sum += term;
        if term <= 1e-18 * sum {
            return sum;
        }
        a += 1.0;
    }
    let power = inverse_power(a, s);
    let squared_inverse = 1.0 / (a * a);
    let mut rest = a * power / (order - 1.0) + 0.5 * power;
    // s (s+1) .. (s+2k-2) / a^(s+2k-1)
    let mut factor = order * power / a;
    for (k, b) in BERNOULLI.iter().enumerate() {
        rest += b * factor;
        let next = order + 2.0 * k as f64 + 1.0;
        factor *= next * (next + 1.0) * squared_inverse;
    }
    sum + rest
}

/// `a^-s`, by plain products while their rounding error stays below the error bound of the sum.
fn inverse_power(a: f64, s: i64) -> f64 {
    const PLAIN: i64 = 24;
    if s > PLAIN {
        return powi(a, -s);
    }
    let (mut base, mut left, mut power) = (1.0 / a, s, 1.0);
    while left > 1 {
        if left & 1 == 1 {
            power *= base;
        }
        base *= base;
        left >>= 1;
    }
    power * base
}
