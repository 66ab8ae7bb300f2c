//! What the `nalgebra` crate asks of its numbers: the traits of `simba` and `approx`.
//!
//! Functions are those of [`Float`], and so are their slopes. Conversions to plain floats and comparisons with a tolerance look at values
//! and record nothing.

use crate::{Dual, Real, Var};
use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use num_traits::{Float, FloatConst, One, Zero};
use simba::scalar::{ComplexField, Field, RealField, SubsetOf};
use simba::simd::{PrimitiveSimdValue, SimdValue};

/// sin(x) / x, or sinh(x) / x, by the sign of their series; close to 0 that series is taken, whose derivatives are right too.
#[track_caller]
fn cardinal<T: Real>(x: T, sign: f64, quotient: impl FnOnce() -> T) -> T {
    if x.to_f64().abs() > 0.1 {
        return quotient();
    }
    let square = x.powi(2);
    // The first term that is missing, x^10 / 11!, is below 1e-17.
    let coefficients = [sign / 5040.0, 1.0 / 120.0, sign / 6.0, 1.0];
    coefficients.into_iter().fold(T::lit(1.0 / 362_880.0), |series, next| series.mul_add(square, T::lit(next)))
}

/// Methods of one shape.
macro_rules! methods {
    (of one: $($name:ident)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(self) -> Self {
            Float::$name(self)
        })*
    };
    (of two: $($name:ident)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(self, other: Self) -> Self {
            Float::$name(self, other)
        })*
    };
    (constant: $($name:ident $NAME:ident;)*) => {
        $(fn $name() -> Self {
            FloatConst::$NAME()
        })*
    };
}

/// A plain float is a number too; back, a number is its value.
macro_rules! subset {
    ($float:ident, [$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> SubsetOf<$Number> for $float {
            #[inline]
            fn to_superset(&self) -> $Number {
                Real::lit(Real::to_f64(*self))
            }

            #[inline]
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

/// All traits, of a number whose value is a `$Part`.
macro_rules! fields {
    ([$($generics:tt)*] $Number:ty, $Part:ty) => {
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

        impl<$($generics)*> AbsDiffEq for $Number {
            type Epsilon = Self;

            fn default_epsilon() -> Self {
                <$Part>::default_epsilon().into()
            }

            fn abs_diff_eq(&self, other: &Self, epsilon: Self) -> bool {
                self.value().abs_diff_eq(&other.value(), epsilon.value())
            }
        }

        impl<$($generics)*> RelativeEq for $Number {
            fn default_max_relative() -> Self {
                <$Part>::default_max_relative().into()
            }

            fn relative_eq(&self, other: &Self, epsilon: Self, most: Self) -> bool {
                self.value().relative_eq(&other.value(), epsilon.value(), most.value())
            }
        }

        impl<$($generics)*> UlpsEq for $Number {
            fn default_max_ulps() -> u32 {
                <$Part>::default_max_ulps()
            }

            fn ulps_eq(&self, other: &Self, epsilon: Self, most: u32) -> bool {
                self.value().ulps_eq(&other.value(), epsilon.value(), most)
            }
        }

        wengert_kernels::one_lane!(SimdValue, [$($generics)*] $Number);
        impl<$($generics)*> PrimitiveSimdValue for $Number {}

        impl<$($generics)*> Field for $Number {}

        impl<$($generics)*> ComplexField for $Number {
            type RealField = Self;

            methods! {
                of one:
                floor ceil round trunc fract signum abs recip sqrt cbrt exp exp2 exp_m1 ln log2 log10 ln_1p
                sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
            }
            methods! { of two: log powf hypot }

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

            /// One argument, where a product has two.
            #[inline]
            #[track_caller]
            fn modulus_squared(self) -> Self {
                Real::powi(self, 2)
            }

            fn argument(self) -> Self {
                if self >= Self::zero() { Self::zero() } else { FloatConst::PI() }
            }

            /// Their product has slope 1 everywhere: at 0 the first is not the size, which has slope 0 there. Rotations in a plane rely on that.
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
            fn powc(self, p: Self) -> Self {
                Real::powf(self, p)
            }

            #[inline]
            #[track_caller]
            fn sin_cos(self) -> (Self, Self) {
                Float::sin_cos(self)
            }

            /// Two statements, each with the other's value as slope.
            #[inline]
            #[track_caller]
            fn sinh_cosh(self) -> (Self, Self) {
                let (sinh, cosh) = ComplexField::sinh_cosh(self.value());
                (self.through(sinh, cosh), self.through(cosh, sinh))
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
            fn is_finite(&self) -> bool {
                Float::is_finite(*self)
            }

            #[inline]
            #[track_caller]
            fn try_sqrt(self) -> Option<Self> {
                (self >= Self::zero()).then(|| Real::sqrt(self))
            }
        }

        impl<$($generics)*> RealField for $Number {
            methods! { of two: copysign max min atan2 }
            methods! {
                constant:
                pi PI; two_pi TAU; frac_pi_2 FRAC_PI_2; frac_pi_3 FRAC_PI_3; frac_pi_4 FRAC_PI_4; frac_pi_6 FRAC_PI_6;
                frac_pi_8 FRAC_PI_8; frac_1_pi FRAC_1_PI; frac_2_pi FRAC_2_PI; frac_2_sqrt_pi FRAC_2_SQRT_PI;
                e E; log2_e LOG2_E; log10_e LOG10_E; ln_2 LN_2; ln_10 LN_10;
            }

            #[inline]
            fn is_sign_positive(&self) -> bool {
                Float::is_sign_positive(*self)
            }

            #[inline]
            fn is_sign_negative(&self) -> bool {
                Float::is_sign_negative(*self)
            }

            /// At a bound it is the number itself, with slope 1.
            #[inline]
            fn clamp(self, least: Self, most: Self) -> Self {
                if self < least {
                    least
                } else if self > most {
                    most
                } else {
                    self
                }
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

fields!([] Var, f64);
fields!([T: Real + Float + RealField, const N: usize] Dual<T, N>, T);
