//! `Float` of the `num-traits` crate and its relatives.
//!
//! Whatever asks for a plain number sees the value: comparisons, casts, `is_nan`, `integer_decode`. Rounding and `signum` have slope 0.
//! Values are those of the float inside, to the bit, except that `mul_add` rounds twice; where that float and [`Real`] differ, in
//! `round`, `signum`, and `max` and `min` beside NaN, it is the float that is followed.

use crate::{Dual, Real, Var};
use num_traits::{Bounded, Float, FloatConst, FromPrimitive, Num, NumCast, One, Signed, ToPrimitive, Zero};
use std::num::FpCategory;

/// Methods of one shape.
macro_rules! methods {
    (constant $Part:ty: $($name:ident)*) => {
        $(fn $name() -> Self {
            <$Part as Float>::$name().into()
        })*
    };
    (mathematical: $($NAME:ident)*) => {
        $(fn $NAME() -> Self {
            Self::lit(std::f64::consts::$NAME)
        })*
    };
    (seen: $($name:ident -> $Seen:ty;)*) => {
        $(#[inline]
        fn $name(self) -> $Seen {
            Float::$name(self.value())
        })*
    };
    (flat: $($name:ident)*) => {
        $(#[inline]
        fn $name(self) -> Self {
            Float::$name(self.value()).into()
        })*
    };
    (smooth: $($name:ident)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(self) -> Self {
            Real::$name(self)
        })*
    };
    (of two: $($name:ident)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(self, other: Self) -> Self {
            Real::$name(self, other)
        })*
    };
    (of two, not NaN: $($name:ident)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(self, other: Self) -> Self {
            match (self.is_nan(), other.is_nan()) {
                (true, _) => other,
                (_, true) => self,
                _ => Real::$name(self, other),
            }
        })*
    };
    (to: $($name:ident $To:ty;)*) => {
        $(#[inline]
        fn $name(&self) -> Option<$To> {
            ToPrimitive::$name(&self.value())
        })*
    };
    (from: $($name:ident $From:ty;)*) => {
        $(#[inline]
        fn $name(x: $From) -> Option<Self> {
            NumCast::from(x)
        })*
    };
}

/// All traits, of a number whose value is a `$Part`.
macro_rules! numbers {
    ([$($generics:tt)*] $Number:ty, $Part:ty) => {
        impl<$($generics)*> Zero for $Number {
            #[inline(always)]
            fn zero() -> Self {
                Self::lit(0.0)
            }

            #[inline(always)]
            fn is_zero(&self) -> bool {
                Real::to_f64(*self) == 0.0
            }
        }

        impl<$($generics)*> One for $Number {
            #[inline(always)]
            fn one() -> Self {
                Self::lit(1.0)
            }
        }

        impl<$($generics)*> Num for $Number {
            type FromStrRadixErr = <$Part as Num>::FromStrRadixErr;

            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
                <$Part as Num>::from_str_radix(text, radix).map(Into::into)
            }
        }

        impl<$($generics)*> ToPrimitive for $Number {
            methods! {
                to:
                to_isize isize; to_i8 i8; to_i16 i16; to_i32 i32; to_i64 i64; to_i128 i128;
                to_usize usize; to_u8 u8; to_u16 u16; to_u32 u32; to_u64 u64; to_u128 u128;
                to_f32 f32; to_f64 f64;
            }
        }

        impl<$($generics)*> FromPrimitive for $Number {
            methods! {
                from:
                from_isize isize; from_i8 i8; from_i16 i16; from_i32 i32; from_i64 i64; from_i128 i128;
                from_usize usize; from_u8 u8; from_u16 u16; from_u32 u32; from_u64 u64; from_u128 u128;
                from_f32 f32; from_f64 f64;
            }
        }

        /// A constant, whatever is cast.
        impl<$($generics)*> NumCast for $Number {
            #[inline]
            fn from<U: ToPrimitive>(x: U) -> Option<Self> {
                <$Part as NumCast>::from(x).map(Into::into)
            }
        }

        impl<$($generics)*> Bounded for $Number {
            methods! { constant $Part: min_value max_value }
        }

        impl<$($generics)*> Signed for $Number {
            #[inline]
            #[track_caller]
            fn abs(&self) -> Self {
                Real::abs(*self)
            }

            #[inline]
            #[track_caller]
            fn abs_sub(&self, other: &Self) -> Self {
                Float::abs_sub(*self, *other)
            }

            #[inline]
            fn signum(&self) -> Self {
                Float::signum(*self)
            }

            #[inline]
            fn is_positive(&self) -> bool {
                Float::is_sign_positive(*self)
            }

            #[inline]
            fn is_negative(&self) -> bool {
                Float::is_sign_negative(*self)
            }
        }

        impl<$($generics)*> FloatConst for $Number {
            methods! {
                mathematical:
                E FRAC_1_PI FRAC_1_SQRT_2 FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3 FRAC_PI_4 FRAC_PI_6 FRAC_PI_8
                LN_10 LN_2 LOG10_2 LOG10_E LOG2_10 LOG2_E PI SQRT_2 TAU
            }
        }

        impl<$($generics)*> Float for $Number {
            methods! {
                constant $Part:
                nan infinity neg_infinity neg_zero min_value min_positive_value max_value epsilon
            }
            methods! {
                seen:
                is_nan -> bool; is_infinite -> bool; is_finite -> bool; is_normal -> bool;
                is_sign_positive -> bool; is_sign_negative -> bool;
                classify -> FpCategory; integer_decode -> (u64, i16, i8);
            }
            methods! { flat: floor ceil round trunc signum }
            methods! {
                smooth:
                abs recip sqrt cbrt exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
            }
            methods! { of two: powf atan2 hypot }
            methods! { of two, not NaN: max min }

            #[inline]
            #[track_caller]
            fn fract(self) -> Self {
                self - Float::trunc(self)
            }

            #[inline]
            #[track_caller]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Real::mul_add(self, a, b)
            }

            #[inline]
            #[track_caller]
            fn powi(self, n: i32) -> Self {
                Real::powi(self, n)
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

            /// Like the size of the difference, it has slope 0 where both are equal.
            #[inline]
            #[track_caller]
            fn abs_sub(self, other: Self) -> Self {
                if self <= other { Self::zero() } else { self - other }
            }

            /// Like the size, it has slope 0 at 0.
            #[inline]
            #[track_caller]
            fn copysign(self, sign: Self) -> Self {
                if self.is_zero() {
                    Float::copysign(self.value(), sign.value()).into()
                } else if self.is_sign_negative() == sign.is_sign_negative() {
                    self
                } else {
                    -self
                }
            }

            /// Two statements, each with the other's value as slope.
            #[inline]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                let (sin, cos) = Float::sin_cos(self.value());
                (self.through(sin, cos), self.through(cos, -sin))
            }
        }
    };
}

numbers!([] Var, f64);
numbers!([T: Real + Float, const N: usize] Dual<T, N>, T);
