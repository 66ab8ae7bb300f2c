//! `Float` of the `num-traits` crate and related traits.
//!
//! Everything that needs a plain number reads the value: comparisons, casts, `is_nan`, `integer_decode`. For a symbol these are guards: of
//! every bit if the whole value is read, of the integer part in casts to integers. Rounding and `signum` have derivative 0. Values match
//! those of the underlying float to the bit, except that `mul_add` rounds twice, and that a symbol computes elementary functions as its
//! replays do. Where floats and [`Real`] differ (`round`, `signum`, and `max` and `min` with NaN), these traits follow the float
//! ([`Number`]).

use crate::forward::{forward, forward_referred, methods_of};
use crate::number::Number;
use crate::{Dual, Real, Symbol, Var};
use num_traits::{Bounded, Euclid, Float, FloatConst, FromPrimitive, Num, NumCast, One, Signed, ToPrimitive, Zero};
use std::num::FpCategory;

/// Methods of the same form.
macro_rules! methods {
    (constant $Inner:ty: $($name:ident)*) => {
        $(fn $name() -> Self {
            <$Inner as Float>::$name().into()
        })*
    };
    (mathematical: $($NAME:ident)*) => {
        $(fn $NAME() -> Self {
            Self::lit(std::f64::consts::$NAME)
        })*
    };
    (to: $($name:ident $To:ty, $seen:ident;)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(&self) -> Option<$To> {
            ToPrimitive::$name(&self.$seen())
        })*
    };
    (from: $($name:ident $From:ty;)*) => {
        $(#[inline]
        fn $name(x: $From) -> Option<Self> {
            NumCast::from(x)
        })*
    };
}

/// All traits of a number whose value is a `$Inner`.
macro_rules! numbers {
    ([$($generics:tt)*] $Number:ty, $Inner:ty) => {
        impl<$($generics)*> Zero for $Number {
            #[inline(always)]
            fn zero() -> Self {
                Self::lit(0.0)
            }

            #[inline(always)]
            #[track_caller]
            fn is_zero(&self) -> bool {
                *self == Self::zero()
            }
        }

        impl<$($generics)*> One for $Number {
            #[inline(always)]
            fn one() -> Self {
                Self::lit(1.0)
            }
        }

        impl<$($generics)*> Num for $Number {
            type FromStrRadixErr = <$Inner as Num>::FromStrRadixErr;

            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
                <$Inner as Num>::from_str_radix(text, radix).map(Into::into)
            }
        }

        impl<$($generics)*> ToPrimitive for $Number {
            methods! {
                to:
                to_isize isize, whole; to_i8 i8, whole; to_i16 i16, whole; to_i32 i32, whole; to_i64 i64, whole; to_i128 i128, whole;
                to_usize usize, whole; to_u8 u8, whole; to_u16 u16, whole; to_u32 u32, whole; to_u64 u64, whole; to_u128 u128, whole;
                to_f32 f32, bits; to_f64 f64, bits;
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

        /// Always a constant.
        impl<$($generics)*> NumCast for $Number {
            #[inline]
            fn from<U: ToPrimitive>(x: U) -> Option<Self> {
                <$Inner as NumCast>::from(x).map(Into::into)
            }
        }

        impl<$($generics)*> Bounded for $Number {
            methods! { constant $Inner: min_value max_value }
        }

        impl<$($generics)*> Signed for $Number {
            forward_referred! {
                abs = Real::abs() -> Self;
                abs_sub = Number::abs_sub(other) -> Self;
                signum = Number::signum() -> Self;
                is_positive = Number::is_sign_positive() -> bool;
                is_negative = Number::is_sign_negative() -> bool;
            }
        }

        impl<$($generics)*> Euclid for $Number {
            forward_referred! {
                div_euclid = Number::div_euclid(other) -> Self;
                rem_euclid = Number::rem_euclid(other) -> Self;
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
                constant $Inner:
                nan infinity neg_infinity neg_zero min_value min_positive_value max_value epsilon
            }
            methods_of! { Float }
        }
    };
}

numbers!([] Var, f64);
numbers!([] Symbol, f64);
numbers!([T: Real + Float, const N: usize] Dual<T, N>, T);
