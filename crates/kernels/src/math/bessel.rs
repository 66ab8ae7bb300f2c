//! Modified Bessel functions of order zero and one, and the cardinal sine.
//!
//! Up to 20, the power series in `x^2/4`, whose terms are all positive; beyond, the asymptotic series of `sqrt(2 pi x) e^-x I(x)`, whose
//! smallest term is below `e^-40` there. The relative error is below `1e-14`. `f32` is computed in `f64`.

use super::exponential::exp;
use super::real::Real;
use super::trigonometric::sin_pi;

/// Where the asymptotic series takes over.
const FAR: f64 = 20.0;

/// `I_n(a) / (a/2)^n` for `n` zero or one and `0 <= a <= FAR`.
fn power_series(n: f64, a: f64) -> f64 {
    let z = 0.25 * a * a;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= z / (k * (k + n));
        sum += term;
        k += 1.0;
    }
    sum
}

/// `e^-a I_n(a)` for `a >= FAR`.
fn asymptotic_series(n: f64, a: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0f64, 1.0, 1.0);
    while term.abs() > 1e-17 && k < 40.0 {
        let odd = 2.0 * k - 1.0;
        term *= (odd * odd - 4.0 * n * n) / (8.0 * k * a);
        sum += term;
        k += 1.0;
    }
    sum / (2.0 * std::f64::consts::PI * a).sqrt()
}

fn bessel(n: f64, x: f64, scaled: bool) -> f64 {
    let a = x.abs();
    let value = if a < FAR {
        let y = power_series(n, a) * if n == 0.0 { 1.0 } else { 0.5 * a };
        if scaled { y * exp(-a) } else { y }
    } else if a.is_infinite() {
        if scaled { 0.0 } else { f64::INFINITY }
    } else {
        let y = asymptotic_series(n, a);
        // In two factors: the exponential overflows before the function does.
        if scaled { y } else { (y * exp(0.5 * a)) * exp(0.5 * a) }
    };
    if n == 0.0 { value } else { value.copysign(x) }
}

/// The modified Bessel function of order zero.
///
/// ```
/// assert_eq!(wengert_kernels::math::i0(0.0f64), 1.0);
/// ```
pub fn i0<T: Real>(x: T) -> T {
    T::of(bessel(0.0, x.wide(), false))
}

/// `e^-|x| i0(x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::i0e(0.0f64), 1.0);
/// ```
pub fn i0e<T: Real>(x: T) -> T {
    T::of(bessel(0.0, x.wide(), true))
}

/// The modified Bessel function of order one.
///
/// ```
/// assert_eq!(wengert_kernels::math::i1(0.0f64), 0.0);
/// ```
pub fn i1<T: Real>(x: T) -> T {
    T::of(bessel(1.0, x.wide(), false))
}

/// `e^-|x| i1(x)`.
///
/// ```
/// assert_eq!(wengert_kernels::math::i1e(0.0f64), 0.0);
/// ```
pub fn i1e<T: Real>(x: T) -> T {
    T::of(bessel(1.0, x.wide(), true))
}

/// `sin(pi x) / (pi x)`, one at zero and exactly zero at every other integer.
///
/// ```
/// use wengert_kernels::math::sinc;
/// assert_eq!((sinc(0.0f64), sinc(2.0f64)), (1.0, 0.0));
/// ```
pub fn sinc<T: Real>(x: T) -> T {
    let x = x.wide();
    T::of(if x == 0.0 {
        1.0
    } else if x.is_infinite() {
        0.0
    } else {
        // Adding zero turns -0 into 0.
        sin_pi(x) / (std::f64::consts::PI * x) + 0.0
    })
}
