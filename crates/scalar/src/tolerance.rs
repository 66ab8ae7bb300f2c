//! Comparisons with a tolerance, for the `approx` crate.
//!
//! A variable or dual number compares the value that it wraps, and nothing is recorded. A symbol records the difference, and guards how it
//! compares with the tolerance; only a comparison in units of the last place guards every bit.

use crate::number::Number;
use crate::{Dual, Real, Symbol, Var};
use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use num_traits::Float;
use simba::scalar::RealField;

/// For a number that wraps a `$Inner`.
macro_rules! tolerances {
    ([$($generics:tt)*] $Number:ty, $Inner:ty) => {
        impl<$($generics)*> AbsDiffEq for $Number {
            type Epsilon = Self;

            fn default_epsilon() -> Self {
                <$Inner>::default_epsilon().into()
            }

            fn abs_diff_eq(&self, other: &Self, epsilon: Self) -> bool {
                self.value().abs_diff_eq(&other.value(), epsilon.value())
            }
        }

        impl<$($generics)*> RelativeEq for $Number {
            fn default_max_relative() -> Self {
                <$Inner>::default_max_relative().into()
            }

            fn relative_eq(&self, other: &Self, epsilon: Self, most: Self) -> bool {
                self.value().relative_eq(&other.value(), epsilon.value(), most.value())
            }
        }

        impl<$($generics)*> UlpsEq for $Number {
            fn default_max_ulps() -> u32 {
                <$Inner>::default_max_ulps()
            }

            fn ulps_eq(&self, other: &Self, epsilon: Self, most: u32) -> bool {
                self.value().ulps_eq(&other.value(), epsilon.value(), most)
            }
        }
    };
}

tolerances!([] Var, f64);
tolerances!([T: Real + Float + RealField, const N: usize] Dual<T, N>, T);

impl AbsDiffEq for Symbol {
    type Epsilon = Symbol;

    fn default_epsilon() -> Symbol {
        f64::default_epsilon().into()
    }

    #[track_caller]
    fn abs_diff_eq(&self, other: &Symbol, epsilon: Symbol) -> bool {
        Real::abs(*self - *other) <= epsilon
    }
}

impl RelativeEq for Symbol {
    fn default_max_relative() -> Symbol {
        f64::default_max_relative().into()
    }

    /// An infinity equals only itself.
    #[track_caller]
    fn relative_eq(&self, other: &Symbol, epsilon: Symbol, most: Symbol) -> bool {
        if self == other {
            return true;
        }
        if Number::is_infinite(*self) || Number::is_infinite(*other) {
            return false;
        }
        let largest = Real::max(Real::abs(*self), Real::abs(*other));
        self.abs_diff_eq(other, epsilon) || Real::abs(*self - *other) <= largest * most
    }
}

impl UlpsEq for Symbol {
    fn default_max_ulps() -> u32 {
        f64::default_max_ulps()
    }

    #[track_caller]
    fn ulps_eq(&self, other: &Symbol, epsilon: Symbol, most: u32) -> bool {
        self.abs_diff_eq(other, epsilon) || self.bits().ulps_eq(&other.bits(), epsilon.bits(), most)
    }
}
