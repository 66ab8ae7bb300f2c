//! Float methods that [`Real`] lacks or defines differently. The traits of other crates are implemented with both.
//!
//! A variable and a dual number *wrap* a value, which answers queries without recording anything. A symbol cannot be read freely: queries
//! are comparisons, which become guards, and rounding uses recorded operations. Let s be the sign of x as [`Real`] defines it, which at 0
//! is a zero with the sign of x. Then:
//!
//! - the sign of a float is that of s + 1 / s, which is infinite where s is 0;
//! - trunc(x) is s floor(|x|), and round(x), with halves away from 0, is s floor(|x| + h), where h is the largest float below 1/2. With 1/2
//!   itself the sum would be rounded up for |x| = h, and for large odd numbers.

use crate::{Dual, Real, Symbol, Var};
use num_traits::Float;
use std::num::FpCategory;

/// A number that generic float code can compute with. Methods have the names and values of those of [`Float`].
pub(crate) trait Number: Real + Float {
    /// A float, or the wrapped number.
    type Inner: Float;

    /// The exact value. For a symbol this guards every bit.
    fn bits(self) -> Self::Inner;

    /// The value for casts to integers, which drop the fraction. For a symbol only the integer part is guarded.
    fn whole(self) -> Self::Inner;

    /// A symbol cannot tell the sign of NaN.
    fn is_sign_negative(self) -> bool;

    fn signum(self) -> Self;

    fn trunc(self) -> Self;

    /// Rounds halves away from 0.
    fn round(self) -> Self;

    fn sin_cos(self) -> (Self, Self);

    #[cfg(feature = "nalgebra")]
    fn sinh_cosh(self) -> (Self, Self);

    #[inline]
    #[track_caller]
    fn is_sign_positive(self) -> bool {
        !Number::is_sign_negative(self)
    }

    #[inline]
    #[track_caller]
    fn is_nan(self) -> bool {
        let same = self;
        self != same
    }

    #[inline]
    #[track_caller]
    fn is_infinite(self) -> bool {
        self == Self::infinity() || self == Self::neg_infinity()
    }

    #[inline]
    #[track_caller]
    fn is_finite(self) -> bool {
        self > Self::neg_infinity() && self < Self::infinity()
    }

    #[inline]
    #[track_caller]
    fn is_normal(self) -> bool {
        let least = Self::min_positive_value();
        Number::is_finite(self) && (self >= least || self <= -least)
    }

    #[track_caller]
    fn classify(self) -> FpCategory {
        if Number::is_normal(self) {
            FpCategory::Normal
        } else if Number::is_nan(self) {
            FpCategory::Nan
        } else if Number::is_infinite(self) {
            FpCategory::Infinite
        } else if self == Self::lit(0.0) {
            FpCategory::Zero
        } else {
            FpCategory::Subnormal
        }
    }

    #[track_caller]
    fn integer_decode(self) -> (u64, i16, i8) {
        Float::integer_decode(self.bits())
    }

    #[inline]
    #[track_caller]
    fn fract(self) -> Self {
        self - Number::trunc(self)
    }

    /// The larger number. If one is NaN, the other is returned.
    #[inline]
    #[track_caller]
    fn max(self, other: Self) -> Self {
        match beside_nan(self, other) {
            Some(number) => number,
            None => Real::max(self, other),
        }
    }

    /// The smaller number. If one is NaN, the other is returned.
    #[inline]
    #[track_caller]
    fn min(self, other: Self) -> Self {
        match beside_nan(self, other) {
            Some(number) => number,
            None => Real::min(self, other),
        }
    }

    /// At a bound the result is the number itself, with derivative 1.
    #[inline]
    #[track_caller]
    fn clamp(self, least: Self, most: Self) -> Self {
        if self < least {
            least
        } else if self > most {
            most
        } else {
            self
        }
    }

    #[inline]
    #[track_caller]
    fn log(self, base: Self) -> Self {
        Real::ln(self) / Real::ln(base)
    }

    #[inline]
    #[track_caller]
    fn to_degrees(self) -> Self {
        self * Self::lit(180.0 / std::f64::consts::PI)
    }

    #[inline]
    #[track_caller]
    fn to_radians(self) -> Self {
        self * Self::lit(std::f64::consts::PI / 180.0)
    }

    /// Where both are equal the derivative is 0, as for the absolute value of the difference.
    #[inline]
    #[track_caller]
    fn abs_sub(self, other: Self) -> Self {
        if self <= other { Self::lit(0.0) } else { self - other }
    }

    /// At 0 the derivative is 0, as for the absolute value.
    #[inline]
    #[track_caller]
    fn copysign(self, sign: Self) -> Self {
        let is_negative = Number::is_sign_negative(sign);
        if self == Self::lit(0.0) {
            Self::lit(if is_negative { -0.0 } else { 0.0 })
        } else if Number::is_sign_negative(self) == is_negative {
            self
        } else {
            -self
        }
    }

    /// The nonnegative remainder. Its partial derivatives are 1 and minus the quotient.
    #[track_caller]
    fn rem_euclid(self, other: Self) -> Self {
        let rest = self % other;
        if rest < Self::lit(0.0) { rest + Real::abs(other) } else { rest }
    }

    /// The integer quotient that belongs to `rem_euclid`.
    #[track_caller]
    fn div_euclid(self, other: Self) -> Self {
        let (quotient, one) = (Number::trunc(self / other), Self::lit(1.0));
        match self % other < Self::lit(0.0) {
            true if other > Self::lit(0.0) => quotient - one,
            true => quotient + one,
            false => quotient,
        }
    }
}

/// The other number, if one is NaN.
#[inline]
#[track_caller]
fn beside_nan<T: Number>(x: T, y: T) -> Option<T> {
    match (Number::is_nan(x), Number::is_nan(y)) {
        (true, _) => Some(y),
        (_, true) => Some(x),
        _ => None,
    }
}

/// A number that wraps a `$Inner`.
macro_rules! around {
    ([$($generics:tt)*] $Number:ty, $Inner:ty, seen: $($seen:ident)*, flat: $($flat:ident)*) => {
        impl<$($generics)*> Number for $Number {
            type Inner = $Inner;

            $(#[inline]
            fn $seen(self) -> $Inner {
                self.value()
            })*

            #[inline]
            #[track_caller]
            fn is_sign_negative(self) -> bool {
                Float::is_sign_negative(self.value())
            }

            $(#[inline]
            #[track_caller]
            fn $flat(self) -> Self {
                Float::$flat(self.value()).into()
            })*

            /// Two statements: the derivative of each is, up to sign, the value of the other.
            #[inline]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                let (sin, cos) = Float::sin_cos(self.value());
                (self.through(sin, cos), self.through(cos, -sin))
            }

            /// Two statements: the derivative of each is the value of the other.
            #[cfg(feature = "nalgebra")]
            #[inline]
            #[track_caller]
            fn sinh_cosh(self) -> (Self, Self) {
                let (sinh, cosh) = (Real::sinh(self.value()), Real::cosh(self.value()));
                (self.through(sinh, cosh), self.through(cosh, sinh))
            }
        }
    };
}

around!([] Var, f64, seen: bits whole, flat: signum trunc round);
around!([T: Real + Float, const N: usize] Dual<T, N>, T, seen: bits whole, flat: signum trunc round);

/// A number with the sign of `x`, even if `x` is a zero.
#[track_caller]
fn with_sign_of(x: Symbol) -> Symbol {
    let sign = Real::signum(x);
    sign + Real::recip(sign)
}

impl Number for Symbol {
    type Inner = f64;

    #[track_caller]
    fn bits(self) -> f64 {
        Real::to_f64(self)
    }

    #[track_caller]
    fn whole(self) -> f64 {
        Real::to_f64(Number::trunc(self))
    }

    #[track_caller]
    fn is_sign_negative(self) -> bool {
        with_sign_of(self) < 0.0
    }

    #[track_caller]
    fn signum(self) -> Symbol {
        Real::signum(with_sign_of(self))
    }

    #[track_caller]
    fn trunc(self) -> Symbol {
        Real::signum(self) * Real::floor(Real::abs(self))
    }

    #[track_caller]
    fn round(self) -> Symbol {
        Real::signum(self) * Real::floor(Real::abs(self) + Symbol::lit(0.5f64.next_down()))
    }

    #[track_caller]
    fn sin_cos(self) -> (Symbol, Symbol) {
        (Real::sin(self), Real::cos(self))
    }

    #[cfg(feature = "nalgebra")]
    #[track_caller]
    fn sinh_cosh(self) -> (Symbol, Symbol) {
        (Real::sinh(self), Real::cosh(self))
    }
}
