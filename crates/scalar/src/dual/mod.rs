//! Dual numbers: values with tangents.

/// The tangents of a result, one direction after another. (This is a loop instead of `map` or `from_fn` because their closures are compiled
/// as separate functions, which remain calls in programs with several codegen units.)
macro_rules! each {
    ($tangents:expr, |$place:ident| $tangent:expr) => {{
        let mut tangents = $tangents;
        let mut $place = 0;
        while $place < N {
            tangents[$place] = $tangent;
            $place += 1;
        }
        tangents
    }};
}

mod operators;

use crate::Real;
use crate::expect::expect;
use crate::functions;
use std::fmt;

/// A number and its derivatives in `N` directions, which every operation propagates. The components may themselves be dual numbers or
/// [`Var`](crate::Var)s, which gives higher derivatives.
///
/// ```
/// use wengert_scalar::{Dual, Real};
/// let x = Dual::<f64, 1>::variable(2.0, 0);
/// assert_eq!((x * x).tangents(), &[4.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dual<T, const N: usize> {
    value: T,
    tangents: [T; N],
}

impl<T: Real, const N: usize> Dual<T, N> {
    /// A number with the given tangents.
    pub fn new(value: T, tangents: [T; N]) -> Dual<T, N> {
        Dual { value, tangents }
    }

    /// A number whose tangent is 1 in one direction and 0 in the others. Raises an error if there is no such direction.
    #[track_caller]
    pub fn variable(value: f64, direction: usize) -> Dual<T, N> {
        Dual::along(T::lit(value), direction)
    }

    /// Like [`variable`](Dual::variable), for a value that may carry derivatives itself. Raises an error if there is no such direction.
    ///
    /// ```
    /// use wengert_scalar::{Dual, Real, gradient_of};
    /// // A row of the Hessian of x^2 y: the gradient of its derivative by x.
    /// let by_x = |[x, y]: [_; 2]| {
    ///     let (x, y) = (Dual::along(x, 0), Dual::<_, 1>::from(y));
    ///     (x * x * y).tangents()[0]
    /// };
    /// assert_eq!(gradient_of(by_x, [3.0, 5.0]), (30.0, [10.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn along(value: T, direction: usize) -> Dual<T, N> {
        expect(direction < N, "variable", || format!("direction {direction} of {N}"));
        let tangents = std::array::from_fn(|place| T::lit(if place == direction { 1.0 } else { 0.0 }));
        Dual { value, tangents }
    }

    /// The value.
    pub fn value(&self) -> T {
        self.value
    }

    /// The tangents.
    pub fn tangents(&self) -> &[T; N] {
        &self.tangents
    }

    /// A zero tangent stays zero even if the slope is infinite or NaN, and a zero slope turns an infinite tangent into zero.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn through(self, value: T, slope: T) -> Dual<T, N> {
        let x = self.tangents;
        if slope.is_plain() {
            return Dual { value, tangents: each!(x, |place| x[place] * slope) };
        }
        let mut tangents = x;
        guard(&mut tangents, slope);
        Dual { value, tangents }
    }

    #[inline(always)]
    #[track_caller]
    fn through_both(self, other: Dual<T, N>, value: T, slopes: [T; 2]) -> Dual<T, N> {
        let are_plain = slopes[0].is_plain() && slopes[1].is_plain();
        self.through_slopes(other, value, slopes, are_plain)
    }

    #[inline(always)]
    #[track_caller]
    fn through_slopes(self, other: Dual<T, N>, value: T, [by_x, by_y]: [T; 2], are_plain: bool) -> Dual<T, N> {
        let (x, y) = (self.tangents, other.tangents);
        let tangents = match are_plain {
            true => each!(x, |place| x[place] * by_x + y[place] * by_y),
            false => {
                let mut both = [x, y];
                guard_sum(&mut both, [by_x, by_y]);
                both[0]
            }
        };
        Dual { value, tangents }
    }

    /// The weighted sum of two tangents. A weight of zero ignores its tangent, even if that is infinite or NaN.
    #[inline(always)]
    #[track_caller]
    fn shared(self, other: Dual<T, N>, value: T, [x, y]: [T; 2]) -> Dual<T, N> {
        let (by_x, by_y) = (self.tangents, other.tangents);
        let tangents = each!(by_x, |place| x.guarded_mul(by_x[place]) + y.guarded_mul(by_y[place]));
        Dual { value, tangents }
    }
}

/// Multiplies tangents by a slope that needs a guard. (This works in place so that tangents are only written to memory just before this
/// call. When no guard is needed, they stay in registers.)
#[cold]
#[inline(never)]
#[track_caller]
fn guard<T: Real, const N: usize>(tangents: &mut [T; N], slope: T) {
    let is_nan = |tangent: T| tangent.plain().is_some_and(f64::is_nan);
    for tangent in tangents {
        *tangent = match slope.is_constant_zero() {
            true => T::lit(if is_nan(*tangent) { f64::NAN } else { 0.0 }),
            false => tangent.guarded_mul(slope),
        };
    }
}

/// The same for two operands: the sum replaces the first.
#[cold]
#[inline(never)]
#[track_caller]
fn guard_sum<T: Real, const N: usize>([x, y]: &mut [[T; N]; 2], [by_x, by_y]: [T; 2]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = x.guarded_mul(by_x) + y.guarded_mul(by_y);
    }
}

/// A constant.
impl<T: Real, const N: usize> From<T> for Dual<T, N> {
    #[inline(always)]
    fn from(value: T) -> Dual<T, N> {
        Dual { value, tangents: [T::lit(0.0); N] }
    }
}

/// Formats the value like a float.
impl<T: Real, const N: usize> fmt::Display for Dual<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

/// Formats the value like a float.
impl<T: Real, const N: usize> fmt::LowerExp for Dual<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerExp::fmt(&self.value, f)
    }
}

/// Functions whose derivative is 0: only the value is computed.
macro_rules! flat {
    ($($name:ident)*) => {
        $(#[inline]
        #[track_caller]
        fn $name(self) -> Dual<T, N> {
            self.value.$name().into()
        })*
    };
}

macro_rules! duals {
    ($($(#[doc = $doc:literal])* $tensor:ident $NAME:ident $name:ident { page: $page:literal, $($row:tt)* })*) => {
        impl<T: Real, const N: usize> Real for Dual<T, N> {
            const ORDER: usize = T::ORDER + 1;

            #[inline(always)]
            fn lit(x: f64) -> Dual<T, N> {
                Dual::from(T::lit(x))
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.value.to_f64()
            }

            #[inline]
            #[track_caller]
            fn floor_index(self) -> usize {
                self.value.floor_index()
            }

            fn plain(self) -> Option<f64> {
                self.value.plain()
            }

            fn is_constant(self) -> bool {
                let is_zero = |tangent: &T| tangent.is_constant() && tangent.to_f64() == 0.0;
                self.value.is_constant() && self.tangents.iter().all(is_zero)
            }

            /// The derivative is minus the square of the value. That square may overflow where its product with a tangent does not.
            #[inline]
            #[track_caller]
            fn recip(self) -> Dual<T, N> {
                let value = self.value.recip();
                self.through(value, value).through(value, -value)
            }

            $(
                #[inline]
                #[track_caller]
                fn $name(self) -> Dual<T, N> {
                    let value = self.value.$name();
                    self.through(value, functions::$name(self.value, value))
                }
            )*

            flat! { signum floor ceil round }

            #[track_caller]
            fn polygamma(self, n: u32) -> Dual<T, N> {
                self.through(self.value.polygamma(n), self.value.polygamma(n.saturating_add(1)))
            }

            #[inline]
            #[track_caller]
            fn powi(self, n: i32) -> Dual<T, N> {
                self.through(self.value.powi(n), functions::powi(self.value, n))
            }

            #[inline]
            #[track_caller]
            fn powf(self, p: Dual<T, N>) -> Dual<T, N> {
                let value = self.value.powf(p.value);
                self.through_both(p, value, functions::powf(self.value, p.value, value))
            }

            #[inline]
            #[track_caller]
            fn atan2(self, x: Dual<T, N>) -> Dual<T, N> {
                self.through_both(x, self.value.atan2(x.value), functions::atan2(self.value, x.value))
            }

            #[inline]
            #[track_caller]
            fn hypot(self, other: Dual<T, N>) -> Dual<T, N> {
                let value = self.value.hypot(other.value);
                self.through_both(other, value, functions::hypot(self.value, other.value, value))
            }

            #[inline]
            #[track_caller]
            fn max(self, other: Dual<T, N>) -> Dual<T, N> {
                let (x, y) = (self.value, other.value);
                self.shared(other, x.max(y), [x.share(y), y.share(x)])
            }

            #[inline]
            #[track_caller]
            fn min(self, other: Dual<T, N>) -> Dual<T, N> {
                let (x, y) = (self.value, other.value);
                self.shared(other, x.min(y), [y.share(x), x.share(y)])
            }

            #[inline]
            #[track_caller]
            fn share(self, other: Dual<T, N>) -> Dual<T, N> {
                self.value.share(other.value).into()
            }

            #[inline]
            fn is_constant_zero(self) -> bool {
                self.value.is_constant_zero() && self.tangents.iter().all(|tangent| tangent.is_constant_zero())
            }

            #[inline]
            fn is_plain(self) -> bool {
                self.value.is_plain()
            }

            #[track_caller]
            fn inside(self, distance: Dual<T, N>) -> Dual<T, N> {
                if distance.plain().is_some_and(|distance| distance >= 0.0) {
                    return self;
                }
                let slope = T::lit(1.0).inside(distance.value);
                let tangents = each!(self.tangents, |place| self.tangents[place].guarded_mul(slope));
                Dual { value: self.value.inside(distance.value), tangents }
            }

            #[inline]
            #[track_caller]
            fn guarded_mul(self, other: Dual<T, N>) -> Dual<T, N> {
                match self.is_constant_zero() {
                    true => Dual::lit(0.0),
                    false => {
                        self.through_both(other, self.value.guarded_mul(other.value), [other.value, self.value])
                    }
                }
            }
        }
    };
}
wengert_kernels::functions!(duals);
