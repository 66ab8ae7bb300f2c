//! `Sum`, `Product` and `Default` for numbers.

use crate::{Dual, Real, Symbol, Var};
use std::iter::{Product, Sum};

macro_rules! fold {
    ($Fold:ident $method:ident, $first:literal, $op:tt, [$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> $Fold for $Number {
            #[track_caller]
            fn $method<I: Iterator<Item = $Number>>(numbers: I) -> $Number {
                let mut all = Real::lit($first);
                for x in numbers {
                    all $op x;
                }
                all
            }
        }

        impl<'a, $($generics)*> $Fold<&'a $Number> for $Number {
            #[track_caller]
            fn $method<I: Iterator<Item = &'a $Number>>(numbers: I) -> $Number {
                let mut all = Real::lit($first);
                for x in numbers {
                    all $op *x;
                }
                all
            }
        }
    };
}

macro_rules! folds {
    ([$($generics:tt)*] $Number:ty) => {
        fold!(Sum sum, 0.0, +=, [$($generics)*] $Number);
        fold!(Product product, 1.0, *=, [$($generics)*] $Number);

        /// The constant 0.
        impl<$($generics)*> Default for $Number {
            fn default() -> $Number {
                Real::lit(0.0)
            }
        }
    };
}

folds!([] Var);
folds!([] Symbol);
folds!([T: Real, const N: usize] Dual<T, N>);
