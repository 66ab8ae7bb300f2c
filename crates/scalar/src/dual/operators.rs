//! Comparisons and arithmetic of dual numbers.

use super::Dual;
use crate::Real;
use crate::functions;
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

/// Comparisons that are delegated to the values.
macro_rules! of_values {
    ($($name:ident $op:tt)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(&self, other: &Dual<T, N>) -> bool {
            self.value $op other.value
        })*
    };
}

impl<T: Real, const N: usize> PartialEq for Dual<T, N> {
    of_values! { eq == }
}

/// Each comparison maps to the same comparison of the values, so a recording needs only one guard for it.
impl<T: Real, const N: usize> PartialOrd for Dual<T, N> {
    #[inline]
    #[track_caller]
    fn partial_cmp(&self, other: &Dual<T, N>) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }

    of_values! { lt < le <= gt > ge >= }
}

impl<T: Real, const N: usize> Neg for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn neg(self) -> Dual<T, N> {
        Dual { value: -self.value, tangents: each!(self.tangents, |place| -self.tangents[place]) }
    }
}

impl<T: Real, const N: usize> Add for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn add(self, other: Dual<T, N>) -> Dual<T, N> {
        let tangents = each!(self.tangents, |place| self.tangents[place] + other.tangents[place]);
        Dual { value: self.value + other.value, tangents }
    }
}

impl<T: Real, const N: usize> Sub for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn sub(self, other: Dual<T, N>) -> Dual<T, N> {
        let tangents = each!(self.tangents, |place| self.tangents[place] - other.tangents[place]);
        Dual { value: self.value - other.value, tangents }
    }
}

impl<T: Real, const N: usize> Mul for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn mul(self, other: Dual<T, N>) -> Dual<T, N> {
        // A product is finite and nonzero only if both factors are.
        let value = self.value * other.value;
        self.through_slopes(other, value, [other.value, self.value], value.is_plain())
    }
}

impl<T: Real, const N: usize> Div for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn div(self, other: Dual<T, N>) -> Dual<T, N> {
        let (value, by_x) = (self.value / other.value, other.value.recip());
        let (x, y) = (self.tangents, other.tangents);
        // Multiply by one factor at a time: their product, the slope, may overflow.
        let tangents = match value.is_plain() && by_x.is_plain() {
            true => each!(x, |place| x[place] * by_x - y[place] * value * by_x),
            false => each!(x, |place| x[place].guarded_mul(by_x) - y[place].guarded_mul(value).guarded_mul(by_x)),
        };
        Dual { value, tangents }
    }
}

impl<T: Real + Rem<Output = T>, const N: usize> Rem for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn rem(self, other: Dual<T, N>) -> Dual<T, N> {
        let (x, y, z) = (self.value, other.value, self.value % other.value);
        // This derivative is piecewise constant: if the values can be read without a guard, nothing is recorded for it.
        let by_y = match (x.plain(), y.plain(), z.plain()) {
            (Some(x), Some(y), Some(z)) => T::lit(functions::rem_by_y(x, y, z)),
            _ => functions::rem_by_y(x, y, z),
        };
        self.through_both(other, z, [T::lit(1.0), by_y])
    }
}

/// Operators with a plain number, which need only one slope.
macro_rules! with_plain {
    ($($Trait:ident $method:ident $op:tt, |$x:ident, $y:ident| $by_x:expr, $by_y:expr;)*) => {
        $(
            impl<T: Real, const N: usize> $Trait<f64> for Dual<T, N> {
                type Output = Dual<T, N>;
                #[inline]
                #[track_caller]
                fn $method(self, other: f64) -> Dual<T, N> {
                    let ($x, $y) = (self.value, T::lit(other));
                    self.through($x $op $y, $by_x)
                }
            }

            impl<T: Real, const N: usize> $Trait<Dual<T, N>> for f64 {
                type Output = Dual<T, N>;
                #[inline]
                #[track_caller]
                fn $method(self, other: Dual<T, N>) -> Dual<T, N> {
                    let ($x, $y) = (T::lit(self), other.value);
                    other.through($x $op $y, $by_y)
                }
            }
        )*
    };
}
with_plain! {
    Add add +, |x, y| T::lit(1.0), T::lit(1.0);
    Sub sub -, |x, y| T::lit(1.0), T::lit(-1.0);
    Mul mul *, |x, y| y, x;
}

impl<T: Real, const N: usize> Div<f64> for Dual<T, N> {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn div(self, other: f64) -> Dual<T, N> {
        let other = T::lit(other);
        self.through(self.value / other, other.recip())
    }
}

impl<T: Real, const N: usize> Div<Dual<T, N>> for f64 {
    type Output = Dual<T, N>;
    #[inline]
    #[track_caller]
    fn div(self, other: Dual<T, N>) -> Dual<T, N> {
        let value = T::lit(self) / other.value;
        other.through(value, -value).through(value, other.value.recip())
    }
}

macro_rules! assigning {
    ($($Trait:ident $method:ident $op:tt $Other:ty $(, if $Bound:path)?;)*) => {
        $(impl<T: Real $(+ $Bound)?, const N: usize> $Trait<$Other> for Dual<T, N> {
            #[inline]
            #[track_caller]
            fn $method(&mut self, other: $Other) {
                *self = *self $op other;
            }
        })*
    };
}
assigning! {
    AddAssign add_assign + Dual<T, N>;
    SubAssign sub_assign - Dual<T, N>;
    MulAssign mul_assign * Dual<T, N>;
    DivAssign div_assign / Dual<T, N>;
    RemAssign rem_assign % Dual<T, N>, if Rem<Output = T>;
    AddAssign add_assign + f64;
    SubAssign sub_assign - f64;
    MulAssign mul_assign * f64;
    DivAssign div_assign / f64;
}
