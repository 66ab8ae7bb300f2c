//! The functions of one number: value and slope of each, in one table.
//!
//! Slopes are written with [`Real`] operations, of the argument x and the value y, so that they are differentiated in turn. Outside of
//! its domain a function's value and slope are NaN; at a kink the slope is the one of least size.

use crate::Real;

/// Calls a macro with the table: name, documentation, value of a plain float, slope.
macro_rules! functions_of_one {
    ($apply:ident) => {
        $apply! {
            sqrt, "The square root; its slope at 0 is infinite.", |x| x.sqrt(), |_x, y| T::lit(0.5) / y;
            cbrt, "The cube root.", |x| x.cbrt(), |_x, y| T::lit(1.0) / (T::lit(3.0) * y * y);
            exp, "e^x.", |x| x.exp(), |_x, y| y;
            exp2, "2^x.", |x| x.exp2(), |_x, y| y * T::lit(std::f64::consts::LN_2);
            exp_m1, "e^x - 1.", |x| x.exp_m1(), |x, _y| x.exp();
            ln, "The natural logarithm.", |x| x.ln(), |x, _y| x.recip().inside(x);
            log2, "The logarithm to base 2.", |x| x.log2(), |x, _y| (x * T::lit(std::f64::consts::LN_2)).recip().inside(x);
            log10, "The logarithm to base 10.", |x| x.log10(), |x, _y| (x * T::lit(std::f64::consts::LN_10)).recip().inside(x);
            ln_1p, "log(1 + x).", |x| x.ln_1p(), |x, _y| (x + T::lit(1.0)).recip().inside(x + T::lit(1.0));
            sin, "The sine.", |x| x.sin(), |x, _y| x.cos();
            cos, "The cosine.", |x| x.cos(), |x, _y| -x.sin();
            tan, "The tangent.", |x| x.tan(), |_x, y| T::lit(1.0) + y * y;
            asin, "The inverse of the sine.", |x| x.asin(), |x, _y| unit_square(x).sqrt().recip();
            acos, "The inverse of the cosine.", |x| x.acos(), |x, _y| -unit_square(x).sqrt().recip();
            atan, "The inverse of the tangent.", |x| x.atan(), |x, _y| (T::lit(1.0) + x * x).recip();
            sinh, "The hyperbolic sine.", |x| x.sinh(), |x, _y| x.cosh();
            cosh, "The hyperbolic cosine.", |x| x.cosh(), |x, _y| x.sinh();
            tanh, "The hyperbolic tangent. Its slope (1 - y) (1 + y) has an error of 1e-16, however small it is itself.", |x| x.tanh(), |_x, y| unit_square(y);
            asinh, "The inverse of the hyperbolic sine.", |x| x.asinh(), |x, _y| x.hypot(T::lit(1.0)).recip();
            acosh, "The inverse of the hyperbolic cosine.", |x| x.acosh(), |x, _y| ((x - T::lit(1.0)).sqrt() * (x + T::lit(1.0)).sqrt()).recip();
            atanh, "The inverse of the hyperbolic tangent.", |x| x.atanh(), |x, _y| unit_square(x).recip().inside(unit_square(x));
            erf, "The error function.", |x| wengert_kernels::math::erf(x), |x, _y| (-(x * x)).exp() * T::lit(std::f64::consts::FRAC_2_SQRT_PI);
            erfc, "1 - erf(x), precise for large x.", |x| wengert_kernels::math::erfc(x), |x, _y| -(-(x * x)).exp() * T::lit(std::f64::consts::FRAC_2_SQRT_PI);
            ln_gamma, "The logarithm of the gamma function's size.", |x| wengert_kernels::math::lgamma(x), |x, _y| x.polygamma(0);
            sigmoid, "1 / (1 + e^-x). Its slope y (1 - y) has an error of 1e-16, however small it is itself.", |x| crate::functions::logistic!(x), |_x, y| y * (T::lit(1.0) - y);
            abs, "The size; its slope at 0 is 0.", |x| x.abs(), |x, _y| x.signum();
        }
    };
}
pub(crate) use functions_of_one;

/// 1 / (1 + e^-x) of a plain float, by the exponential of what is negative: precise in both tails.
macro_rules! logistic {
    ($x:expr) => {{
        let power = (-$x.abs()).exp();
        (if $x < 0.0 { power } else { 1.0 }) / (1.0 + power)
    }};
}
pub(crate) use logistic;

macro_rules! slopes {
    ($($name:ident, $doc:literal, |$v:ident| $value:expr, |$x:ident, $y:ident| $slope:expr;)*) => {
        $(
            #[doc = concat!("The slope of `", stringify!($name), "`.")]
            #[inline(always)]
            pub(crate) fn $name<T: Real>($x: T, $y: T) -> T {
                $slope
            }
        )*
    };
}
functions_of_one!(slopes);

/// 1 - x^2, to the last digits where x is near 1 or -1.
#[inline(always)]
fn unit_square<T: Real>(x: T) -> T {
    (T::lit(1.0) - x) * (T::lit(1.0) + x)
}

/// A length to divide by: 1 at the origin, so that 0 / 0 is 0 there.
#[inline(always)]
fn divisor<T: Real>(length: T) -> T {
    length + (T::lit(1.0) - length.signum())
}

/// The slopes of `x.powf(p)` by both.
#[inline]
pub(crate) fn powf<T: Real>(x: T, p: T, y: T) -> [T; 2] {
    // x^0 is 1 whatever x is, and 0^p is 0 for all p around a positive one.
    [p.guarded_mul(x.powf(p - T::lit(1.0))), y.guarded_mul(x.ln())]
}

/// The slope of `x.powi(n)`.
#[inline]
pub(crate) fn powi<T: Real>(x: T, n: i32) -> T {
    match n {
        0 => T::lit(0.0),
        1 => T::lit(1.0),
        2 => x + x,
        i32::MIN => T::lit(f64::from(n)) * (x.powi(n) / x),
        _ => T::lit(f64::from(n)) * x.powi(n - 1),
    }
}

/// The slope of `x % y` by y: minus the whole number of times that y goes into x.
#[inline]
pub(crate) fn rem_by_y<T: Real>(x: T, y: T, z: T) -> T {
    -((x - z) / y).round()
}

/// The slopes of `y.atan2(x)` by y and x, x and -y over the square of the length; at the origin they are 0.
#[inline]
pub(crate) fn atan2<T: Real>(y: T, x: T) -> [T; 2] {
    // The square itself would overflow, or vanish, where the slopes do not.
    let length = divisor(x.hypot(y));
    [x / length / length, -(y / length / length)]
}

/// The slopes of `x.hypot(y)`; at the origin they are 0.
#[inline]
pub(crate) fn hypot<T: Real>(x: T, y: T, length: T) -> [T; 2] {
    [x, y].map(|x| x / divisor(length))
}
