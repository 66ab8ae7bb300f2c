//! Derivatives of functions, as expressions of [`Real`] operations in the argument x and the value y, so that they can be differentiated
//! again. Functions of one argument are rows of the [table](wengert_kernels::functions!). Outside of its domain a function and its
//! derivative are NaN. At a kink the derivative is the subgradient of least absolute value.

use crate::Real;

macro_rules! slopes {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident {
        page: $page:literal,
        $(value: |$v:ident| $value:expr,)?
        $(values: $values:ident,)?
        $(integer: |$i:ident| $integer:expr,)?
        slope: |$x:ident, $y:ident| $slope:expr, $($rest:tt)*
    })*) => {
        $(
            #[doc = concat!("The slope of `", stringify!($real), "`.")]
            #[allow(unused_variables)]
            #[inline(always)]
            #[track_caller]
            pub(crate) fn $real<T: Real>($x: T, $y: T) -> T {
                #[allow(unused_imports)]
                use vocabulary::*;
                $slope
            }
        )*
    };
}
wengert_kernels::functions!(slopes);

/// The vocabulary of the table ([`wengert_kernels::functions::vocabulary`]) for every kind of number.
mod vocabulary {
    #![allow(unused_imports)]

    use crate::Real;
    use std::ops::{Add, Div, Mul, Sub};
    use wengert_kernels::functions::vocabulary::{DENSITY_AT_0, SINC_NEAR, SINC_SERIES};
    pub(super) use wengert_kernels::functions::vocabulary::{
        FRAC_1_SQRT_2, FRAC_2_SQRT_PI, GELU_CUBIC, GELU_FACTOR, HALF_ROOT_OF_PI, LN_2, LN_10, ROOT_OF_TWO_BY_PI,
        ROOT_OF_TWO_PI, SELU_BELOW, SELU_SCALE,
    };

    macro_rules! words {
        ($($name:ident = $method:ident;)*) => {
            $(#[inline(always)]
            #[track_caller]
            pub(super) fn $name<T: Real>(x: T) -> T {
                x.$method()
            })*
        };
    }
    words! {
        recip = recip;
        exp = exp;
        sin = sin;
        cos = cos;
        sinh = sinh;
        cosh = cosh;
        sqrt = sqrt;
        sign = signum;
        abs = abs;
        digamma = digamma;
        erfcx = erfcx;
        i0 = i0;
        i0e = i0e;
        i1 = i1;
        i1e = i1e;
        log = ln;
        ndtr = ndtr;
        sigmoid = sigmoid;
        square = square;
        tanh = tanh;
    }

    /// A literal on the left of an operator; it takes the type of the right operand.
    pub(super) struct Literal(f64);

    #[inline(always)]
    pub(super) fn lit(value: f64) -> Literal {
        Literal(value)
    }

    macro_rules! operators {
        ($($Trait:ident $method:ident $op:tt;)*) => {
            $(impl<T: Real> $Trait<T> for Literal {
                type Output = T;
                #[inline(always)]
                #[track_caller]
                fn $method(self, x: T) -> T {
                    T::lit(self.0) $op x
                }
            })*
        };
    }
    operators! {
        Add add +;
        Sub sub -;
        Mul mul *;
        Div div /;
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn scale<T: Real>(x: T, factor: f64) -> T {
        x * T::lit(factor)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn shift<T: Real>(x: T, amount: f64) -> T {
        x + T::lit(amount)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn hypot<T: Real>(x: T, y: Literal) -> T {
        x.hypot(T::lit(y.0))
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn over<T: Real>(x: T, divisor: f64) -> T {
        x / T::lit(divisor)
    }

    #[inline(always)]
    pub(super) fn given<T: Real>(x: T, f: impl FnOnce(T) -> T) -> T {
        f(x)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn trigamma<T: Real>(x: T) -> T {
        x.polygamma(1)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn normal_density<T: Real>(x: T) -> T {
        scale((T::lit(-0.5) * x * x).exp(), DENSITY_AT_0)
    }

    /// A literal, or a number of type `T`.
    pub(super) trait Term<T> {
        fn term(self) -> T;
    }

    impl<T: Real> Term<T> for T {
        #[inline(always)]
        fn term(self) -> T {
            self
        }
    }

    impl<T: Real> Term<T> for Literal {
        #[inline(always)]
        fn term(self) -> T {
            T::lit(self.0)
        }
    }

    /// 1 if x > y, else 0, also if one is NaN. It is computed and not decided by a branch, so a replay at other points needs no guard.
    #[inline(always)]
    #[track_caller]
    fn is_above<T: Real>(x: T, y: T) -> T {
        (T::lit(1.0) - y.share(x)).floor()
    }

    /// `then` where the mask is 1, `other` where it is 0. The one that is not chosen may be infinite or NaN.
    #[inline(always)]
    #[track_caller]
    fn choose<T: Real>(mask: T, then: impl Term<T>, other: impl Term<T>) -> T {
        mask.guarded_mul(then.term()) + (T::lit(1.0) - mask).guarded_mul(other.term())
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn above<T: Real>(x: T, border: Literal, then: impl Term<T>, other: impl Term<T>) -> T {
        choose(is_above(x, border.term()), then, other)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn at_zero<T: Real>(x: T, here: impl Term<T>, other: impl Term<T>) -> T {
        let tie = T::lit(0.0).share(x);
        choose(T::lit(4.0) * tie * (T::lit(1.0) - tie), here, other)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn between<T: Real>(
        x: T,
        low: Literal,
        high: Literal,
        inside: impl Term<T>,
        outside: impl Term<T>,
    ) -> T {
        choose(is_above(x, low.term()) * is_above(high.term(), x), inside, outside)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn at_most<T: Real>(x: T, border: f64) -> T {
        above(x, lit(border), lit(border), x)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn sinc_slope<T: Real>(x: T, y: T) -> T {
        // Floats match the tensor operations, which compute this in double precision.
        if T::ORDER == 0
            && let (Some(x), Some(y)) = (x.plain(), y.plain())
        {
            return T::lit(wengert_kernels::functions::vocabulary::sinc_slope(x, y));
        }
        let z = x * x;
        let near = SINC_SERIES.iter().rev().fold(T::lit(0.0), |sum, coefficient| sum * z + T::lit(*coefficient));
        let far = ((T::lit(std::f64::consts::PI) * x).cos() - y) / x;
        choose(is_above(T::lit(SINC_NEAR), x.abs()), x * near, far)
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn nan_below<T: Real>(x: T, border: f64) -> T {
        x.inside(x - T::lit(border))
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn nan_beyond<T: Real>(x: T, border: f64) -> T {
        x.inside(T::lit(border) - x.abs())
    }
}

/// An indicator, which is 0 at the origin and 1 elsewhere, and a length to divide by, which is 1 at the origin.
#[inline(always)]
#[track_caller]
fn divisor<T: Real>(length: T) -> [T; 2] {
    let is_length = length.signum();
    [is_length, length + (T::lit(1.0) - is_length)]
}

/// 0, but NaN at the origin.
#[track_caller]
#[allow(clippy::eq_op, reason = "0 / 0 is NaN")]
pub(crate) fn kink<T: Real>(length: T) -> T {
    let is_length = length.signum();
    is_length / is_length - T::lit(1.0)
}

/// x, which must be 0 at the origin. It is not differentiable there: its derivative is NaN.
#[inline(always)]
#[track_caller]
#[allow(clippy::eq_op, reason = "0 / 0 is NaN")]
fn kinked<T: Real>(x: T, is_length: T) -> T {
    x.guarded_mul(is_length / is_length)
}

/// The partial derivatives of `x.powf(p)`.
#[inline]
pub(crate) fn powf<T: Real>(x: T, p: T, y: T) -> [T; 2] {
    // x^0 is 1 for every x, also where x^-1 is infinite. 0^p is 0 or 1 for all p >= 0, so the term with the logarithm is 0 there. But where
    // 0^p is 0, a tangent of 0^p still passes through that term.
    let (is_zero, is_power) = (T::lit(1.0) - x.abs().signum(), p.abs().signum());
    let is_finite = y.abs().recip().signum();
    let (counts, logarithm) = (T::lit(1.0) - is_zero * is_finite, x.ln());
    let by_p = counts.guarded_mul(y * logarithm) + is_zero.guarded_mul(is_power).guarded_mul(y.guarded_mul(logarithm));
    [p.guarded_mul(x.powf(p - T::lit(1.0))), by_p]
}

/// The derivative of `x.powi(n)`.
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

/// The partial derivative of `x % y` with respect to y: minus the integer quotient.
#[inline]
pub(crate) fn rem_by_y<T: Real>(x: T, y: T, z: T) -> T {
    -((x - z) / y).round()
}

/// The partial derivatives of `y.atan2(x)` with respect to y and x: x and -y over the squared length. At the origin they are 0.
#[inline]
pub(crate) fn atan2<T: Real>(y: T, x: T) -> [T; 2] {
    // The square itself would overflow or underflow where the derivatives do not.
    let [is_length, length] = divisor(x.hypot(y));
    [kinked(x, is_length) / length / length, -(kinked(y, is_length) / length / length)]
}

/// The partial derivatives of `x.hypot(y)`. At the origin they are 0.
#[inline]
pub(crate) fn hypot<T: Real>(x: T, y: T, length: T) -> [T; 2] {
    let [is_length, length] = divisor(length);
    [x, y].map(|x| kinked(x, is_length) / length)
}
