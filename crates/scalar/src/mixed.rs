//! Operators on references, as floats have them, and comparisons with plain numbers.

use crate::{Dual, Real, Symbol, Var};
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Implements one operator for the given pairs of types.
macro_rules! referring {
    ($generics:tt $Number:ty, $Trait:ident $method:ident $op:tt: $($Left:ty, $Right:ty;)*) => {
        $(referring! { @one $generics $Number, $Trait $method $op, $Left, $Right })*
    };
    (@one [$($generics:tt)*] $Number:ty, $Trait:ident $method:ident $op:tt, $Left:ty, $Right:ty) => {
        impl<$($generics)*> $Trait<$Right> for $Left {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn $method(self, other: $Right) -> $Number {
                self.to_owned() $op other.to_owned()
            }
        }
    };
}

/// Comparisons with plain numbers. Each is a single guard in a recording.
macro_rules! comparing {
    ([$($generics:tt)*] $Left:ty, $Right:ty, |$x:ident| $left:expr, |$y:ident| $right:expr) => {
        impl<$($generics)*> PartialEq<$Right> for $Left {
            #[inline(always)]
            #[track_caller]
            fn eq(&self, other: &$Right) -> bool {
                let ($x, $y) = (*self, *other);
                $left == $right
            }
        }

        impl<$($generics)*> PartialOrd<$Right> for $Left {
            #[track_caller]
            fn partial_cmp(&self, other: &$Right) -> Option<Ordering> {
                let ($x, $y) = (*self, *other);
                $left.partial_cmp(&$right)
            }

            comparing! { $Right, |$x| $left, |$y| $right, lt < }
            comparing! { $Right, |$x| $left, |$y| $right, le <= }
            comparing! { $Right, |$x| $left, |$y| $right, gt > }
            comparing! { $Right, |$x| $left, |$y| $right, ge >= }
        }
    };
    ($Right:ty, |$x:ident| $left:expr, |$y:ident| $right:expr, $name:ident $op:tt) => {
        #[inline(always)]
        #[track_caller]
        fn $name(&self, other: &$Right) -> bool {
            let ($x, $y) = (*self, *other);
            $left $op $right
        }
    };
}

macro_rules! mixed {
    ([$($generics:tt)*] $Number:ty) => {
        mixed! { [$($generics)*] $Number, Add add +, AddAssign add_assign }
        mixed! { [$($generics)*] $Number, Sub sub -, SubAssign sub_assign }
        mixed! { [$($generics)*] $Number, Mul mul *, MulAssign mul_assign }
        mixed! { [$($generics)*] $Number, Div div /, DivAssign div_assign }

        impl<$($generics)*> Neg for &$Number {
            type Output = $Number;
            #[inline(always)]
            #[track_caller]
            fn neg(self) -> $Number {
                -*self
            }
        }

        comparing! { [$($generics)*] $Number, f64, |x| x, |y| <$Number as Real>::lit(y) }
        comparing! { [$($generics)*] f64, $Number, |x| <$Number as Real>::lit(x), |y| y }
    };
    ([$($generics:tt)*] $Number:ty, $Trait:ident $method:ident $op:tt, $Assign:ident $assign:ident) => {
        referring! {
            [$($generics)*] $Number, $Trait $method $op:
            $Number, &$Number;
            &$Number, $Number;
            &$Number, &$Number;
            $Number, &f64;
            &$Number, f64;
            &$Number, &f64;
            f64, &$Number;
            &f64, $Number;
            &f64, &$Number;
        }

        impl<$($generics)*> $Assign<&$Number> for $Number {
            #[inline(always)]
            #[track_caller]
            fn $assign(&mut self, other: &$Number) {
                *self = *self $op *other;
            }
        }
    };
}
mixed!([] Var);
mixed!([] Symbol);
mixed!([T: Real, const N: usize] Dual<T, N>);
