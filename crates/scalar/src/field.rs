//! The traits that the `nalgebra` crate requires of its scalars: those of `simba`, and those of `approx` (`tolerance.rs`).
//!
//! Functions and their derivatives are those of [`Float`]. Conversions to plain floats read the value and record nothing, except that for a
//! symbol they guard every bit.

use crate::forward::{forward, forward_referred, methods_of};
use crate::number::Number;
use crate::{Dual, Real, Symbol, Var};
use num_traits::{Float, FloatConst, One, Zero};
use simba::scalar::{ComplexField, Field, RealField, SubsetOf};
use simba::simd::{PrimitiveSimdValue, SimdValue};

/// sin(x) / x or sinh(x) / x, depending on the sign. Close to 0 their series is used, so that derivatives are right too.
#[track_caller]
fn cardinal<T: Real>(x: T, sign: f64, quotient: impl FnOnce() -> T) -> T {
    if x > T::lit(0.1) || x < T::lit(-0.1) {
        return quotient();
    }
    let square = x.powi(2);
    // The first omitted term, x^10 / 11!, is below 1e-17.
    let coefficients = [sign / 5040.0, 1.0 / 120.0, sign / 6.0, 1.0];
    coefficients.into_iter().fold(T::lit(1.0 / 362_880.0), |series, next| series.mul_add(square, T::lit(next)))
}

/// Converts from a plain float, and back by taking the value.
macro_rules! subset {
    ($float:ident, [$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> SubsetOf<$Number> for $float {
            #[inline]
            fn to_superset(&self) -> $Number {
                Real::lit(Real::to_f64(*self))
            }

            #[inline]
            #[track_caller]
            fn from_superset_unchecked(number: &$Number) -> $float {
                Real::to_f64(*number) as $float
            }

            #[inline]
            fn is_in_subset(_: &$Number) -> bool {
                true
            }
        }
    };
}

/// Constants under their `nalgebra` names.
macro_rules! constants {
    ($($name:ident $NAME:ident;)*) => {
        $(fn $name() -> Self {
            FloatConst::$NAME()
        })*
    };
}

/// All traits except the comparisons with a tolerance.
macro_rules! fields {
    ([$($generics:tt)*] $Number:ty) => {
        subset!(f32, [$($generics)*] $Number);
        subset!(f64, [$($generics)*] $Number);

        impl<$($generics)*> SubsetOf<$Number> for $Number {
            #[inline]
            fn to_superset(&self) -> $Number {
                *self
            }

            #[inline]
            fn from_superset_unchecked(number: &$Number) -> $Number {
                *number
            }

            #[inline]
            fn is_in_subset(_: &$Number) -> bool {
                true
            }
        }

        wengert_kernels::one_lane!(SimdValue, [$($generics)*] $Number);
        impl<$($generics)*> PrimitiveSimdValue for $Number {}

        impl<$($generics)*> Field for $Number {}

        impl<$($generics)*> ComplexField for $Number {
            type RealField = Self;

            methods_of! { ComplexField }
            forward! { Number() -> (Self, Self): sinh_cosh; }
            forward_referred! { is_finite = Number::is_finite() -> bool; }

            #[inline(always)]
            fn from_real(number: Self) -> Self {
                number
            }

            #[inline(always)]
            fn real(self) -> Self {
                self
            }

            #[inline(always)]
            fn imaginary(self) -> Self {
                Self::zero()
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }

            #[inline]
            #[track_caller]
            fn modulus(self) -> Self {
                Real::abs(self)
            }

            #[inline]
            #[track_caller]
            fn norm1(self) -> Self {
                Real::abs(self)
            }

            /// One operand, where a product would have two.
            #[inline]
            #[track_caller]
            fn modulus_squared(self) -> Self {
                Real::powi(self, 2)
            }

            #[track_caller]
            fn argument(self) -> Self {
                if self >= Self::zero() { Self::zero() } else { FloatConst::PI() }
            }

            /// The product of both has derivative 1 everywhere. So at 0 the first is not the absolute value, whose derivative there is 0.
            /// Rotations in a plane rely on this.
            #[inline]
            #[track_caller]
            fn to_exp(self) -> (Self, Self) {
                if self >= Self::zero() { (self, Self::one()) } else { (-self, -Self::one()) }
            }

            #[inline]
            #[track_caller]
            fn scale(self, factor: Self) -> Self {
                self * factor
            }

            #[inline]
            #[track_caller]
            fn unscale(self, factor: Self) -> Self {
                self / factor
            }

            #[inline]
            #[track_caller]
            fn powc(self, p: Self) -> Self {
                Real::powf(self, p)
            }

            #[track_caller]
            fn sinc(self) -> Self {
                cardinal(self, -1.0, || Real::sin(self) / self)
            }

            #[track_caller]
            fn sinhc(self) -> Self {
                cardinal(self, 1.0, || Real::sinh(self) / self)
            }

            #[inline]
            #[track_caller]
            fn try_sqrt(self) -> Option<Self> {
                (self >= Self::zero()).then(|| Real::sqrt(self))
            }
        }

        impl<$($generics)*> RealField for $Number {
            methods_of! { RealField }
            forward_referred! {
                is_sign_positive = Number::is_sign_positive() -> bool;
                is_sign_negative = Number::is_sign_negative() -> bool;
            }
            constants! {
                pi PI; two_pi TAU; frac_pi_2 FRAC_PI_2; frac_pi_3 FRAC_PI_3; frac_pi_4 FRAC_PI_4; frac_pi_6 FRAC_PI_6;
                frac_pi_8 FRAC_PI_8; frac_1_pi FRAC_1_PI; frac_2_pi FRAC_2_PI; frac_2_sqrt_pi FRAC_2_SQRT_PI;
                e E; log2_e LOG2_E; log10_e LOG10_E; ln_2 LN_2; ln_10 LN_10;
            }

            fn min_value() -> Option<Self> {
                Some(Float::min_value())
            }

            fn max_value() -> Option<Self> {
                Some(Float::max_value())
            }
        }
    };
}

fields!([] Var);
fields!([] Symbol);
fields!([T: Real + Float + RealField, const N: usize] Dual<T, N>);
