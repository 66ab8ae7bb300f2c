//! The trait of numbers that generic code is written with.

use crate::expect::{expect, same_length};
use std::fmt::{Debug, Display, LowerExp};
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// If a squared length is outside this range, it may have lost digits, or be 0 or infinite where the length is not.
const SQUARES: std::ops::Range<f64> = 1e-280..1e300;

/// The Euclidean length of a vector.
#[inline]
#[track_caller]
pub(crate) fn length<T: Real>(x: impl Iterator<Item = T> + Clone) -> T {
    let square = x.clone().fold(T::lit(0.0), |sum, x| sum + x * x);
    match square > T::lit(SQUARES.start) && square < T::lit(SQUARES.end) {
        true => square.sqrt(),
        false => x.fold(T::lit(0.0), |length, x| length.hypot(x)),
    }
}

macro_rules! trait_with {
    ($($(#[doc = $doc:literal])* $tensor:ident $NAME:ident $name:ident { page: $page:literal, $($row:tt)* })*) => {
        /// A real number: a float, a [`Dual`](crate::Dual) number, a [`Var`](crate::Var) or a [`Symbol`](crate::Symbol). Code that is
        /// generic over it can be differentiated.
        ///
        /// Constants are written `T::lit(2.0) * x` or `x * T::lit(2.0)`. Plain `2.0 * x` does not compile in generic code, because Rust
        /// has no way to say that a float times any `T` is a `T`; `x * 2.0` does not either, because `T` may be `f32`. On concrete
        /// types, such as the arguments of a closure for [`gradient_of`](crate::gradient_of), both work.
        ///
        /// Comparisons read values. Rounding functions and `signum` have derivative 0 wherever they are differentiable.
        ///
        /// ```
        /// use wengert_scalar::{Real, gradient_of};
        /// fn softplus<T: Real>(x: T) -> T {
        ///     if x > T::lit(30.0) { x } else { x.exp().ln_1p() }
        /// }
        /// let (value, [slope]) = gradient_of(|[x]| softplus(x), [0.0]);
        /// assert_eq!((value, slope), (2f64.ln(), 0.5));
        /// ```
        pub trait Real:
            Copy
            + Send
            + Sync
            + 'static
            + Debug
            + Display
            + LowerExp
            + PartialEq
            + PartialOrd
            + Neg<Output = Self>
            + Add<Output = Self>
            + Sub<Output = Self>
            + Mul<Output = Self>
            + Div<Output = Self>
            + AddAssign
            + SubAssign
            + MulAssign
            + DivAssign
            + Sum
            + for<'a> Sum<&'a Self>
            + Product
            + for<'a> Product<&'a Self>
        {
            /// How many times it can be differentiated: once for a [`Var`](crate::Var), once more than its components for a
            /// [`Dual`](crate::Dual), as often as a replay can be for a [`Symbol`](crate::Symbol).
            ///
            /// ```
            /// use wengert_scalar::{Dual, Real, Var};
            /// assert_eq!((f64::ORDER, Dual::<Var, 3>::ORDER), (0, 2));
            /// ```
            const ORDER: usize = 0;

            /// A constant.
            fn lit(x: f64) -> Self;

            /// The value.
            fn to_f64(self) -> f64;

            /// The value, if reading it needs no guard in a recording: `None` for a [`Symbol`](crate::Symbol) that is not a constant.
            ///
            /// ```
            /// use wengert_scalar::{Real, Replay};
            /// let f = Replay::record(|x| if x[0].plain().is_none() { x[0] } else { x[0] * 0.0 }, &[1.0]);
            /// assert_eq!((f.value(&[2.0]), f.recordings(), 3.0.plain()), (2.0, 1, Some(3.0)));
            /// ```
            fn plain(self) -> Option<f64> {
                Some(self.to_f64())
            }

            /// The largest integer not above the number, for use as a table index. A recording guards only this index, whereas
            /// [`to_f64`](Real::to_f64) would guard every bit. Raises an error if the number is negative or NaN.
            ///
            /// ```
            /// use wengert_scalar::{Real, Replay, Symbol, gradient_of};
            /// fn looked_up<T: Real>(x: T) -> T {
            ///     x * T::lit([1.0, 4.0, 9.0][x.floor_index()])
            /// }
            /// assert_eq!(gradient_of(|[x]| looked_up(x), [1.5]), (6.0, [4.0]));
            /// let f = Replay::record(|x: &[Symbol]| looked_up(x[0]), &[1.25]);
            /// assert_eq!((f.value(&[1.5]), f.recordings()), (6.0, 1));
            /// assert_eq!((f.value(&[2.5]), f.recordings()), (22.5, 2));
            /// ```
            #[track_caller]
            fn floor_index(self) -> usize {
                let floor = self.to_f64().floor();
                expect((0.0..1e15).contains(&floor), "floor_index", || format!("{self:e} is not inside of a table"));
                floor as usize
            }

            /// Whether it depends on no variable of the differentiation.
            ///
            /// ```
            /// use wengert_scalar::{Dual, Real};
            /// assert!(Dual::<f64, 1>::lit(2.0).is_constant() && !Dual::<f64, 1>::variable(2.0, 0).is_constant());
            /// ```
            fn is_constant(self) -> bool {
                true
            }

            /// 1 / x.
            #[track_caller]
            fn recip(self) -> Self;

            $(
                #[doc = $page]
                #[track_caller]
                fn $name(self) -> Self;
            )*

            /// The `n`-th derivative of the digamma function.
            #[track_caller]
            fn polygamma(self, n: u32) -> Self;

            /// An integer power; x^0 is 1.
            #[track_caller]
            fn powi(self, n: i32) -> Self;

            /// A power.
            #[track_caller]
            fn powf(self, p: Self) -> Self;

            /// The angle of the point (x, self).
            #[track_caller]
            fn atan2(self, x: Self) -> Self;

            /// The length of the vector (self, other).
            #[track_caller]
            fn hypot(self, other: Self) -> Self;

            /// The larger number; at a tie each has derivative 1/2. NaN if either is NaN.
            #[track_caller]
            fn max(self, other: Self) -> Self;

            /// The smaller number; at a tie each has derivative 1/2. NaN if either is NaN.
            #[track_caller]
            fn min(self, other: Self) -> Self;

            /// `self * a + b`.
            #[track_caller]
            fn mul_add(self, a: Self, b: Self) -> Self {
                self * a + b
            }

            /// 1 or -1, and 0 at 0.
            fn signum(self) -> Self {
                let x = self.to_f64();
                Self::lit(if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x * 0.0 })
            }

            /// The largest integer not above the number.
            fn floor(self) -> Self {
                Self::lit(self.to_f64().floor())
            }

            /// The smallest integer not below the number.
            fn ceil(self) -> Self {
                Self::lit(self.to_f64().ceil())
            }

            /// The nearest integer; halves are rounded to even.
            fn round(self) -> Self {
                Self::lit(self.to_f64().round_ties_even())
            }

            /// The weight of this number in the maximum of two: 0 if the other is larger, 1/2 at a tie, else 1. Its derivative is 0.
            ///
            /// ```
            /// use wengert_scalar::Real;
            /// assert_eq!((2.0.share(1.0), 1.0.share(2.0), 2.0.share(2.0)), (1.0, 0.0, 0.5));
            /// ```
            fn share(self, other: Self) -> Self {
                let tie = if self == other { 0.5 } else { 1.0 };
                Self::lit(if self < other { 0.0 } else { tie })
            }

            /// Whether it is 0 for all inputs: the value and every derivative that it carries are 0. Returns false if that is not known.
            ///
            /// ```
            /// use wengert_scalar::{Dual, Real};
            /// assert!(Dual::<f64, 1>::lit(0.0).is_constant_zero());
            /// assert!(!Dual::<f64, 1>::variable(0.0, 0).is_constant_zero());
            /// ```
            fn is_constant_zero(self) -> bool {
                false
            }

            /// Whether the value is finite and nonzero, so that its product with a tangent needs no guard. Returns false for numbers that
            /// are recorded.
            #[doc(hidden)]
            fn is_plain(self) -> bool {
                false
            }

            /// A tangent times a slope: `self * other`, but 0 if `self` is 0, even if `other` is infinite or NaN, and 0 if `other` is 0 and
            /// `self` is infinite. It is differentiated like the product.
            ///
            /// ```
            /// use wengert_scalar::Real;
            /// assert_eq!((0.0.guarded_mul(f64::INFINITY), f64::INFINITY.guarded_mul(0.0)), (0.0, 0.0));
            /// assert!(f64::NAN.guarded_mul(0.0).is_nan());
            /// ```
            #[track_caller]
            fn guarded_mul(self, other: Self) -> Self;

            /// The number itself if `distance` is not negative. Otherwise, outside of a domain, the number and its derivatives are NaN.
            #[track_caller]
            fn inside(self, distance: Self) -> Self {
                if distance >= Self::lit(0.0) { self } else { Self::lit(f64::NAN) }
            }

            /// The sum of all elements.
            #[track_caller]
            fn sum_of(x: &[Self]) -> Self {
                x.iter().fold(Self::lit(0.0), |sum, x| sum + *x)
            }

            /// The dot product. Raises an error unless both have the same length.
            #[track_caller]
            fn dot(x: &[Self], y: &[Self]) -> Self {
                same_length("dot", x, y);
                x.iter().zip(y).fold(Self::lit(0.0), |sum, (x, y)| sum + *x * *y)
            }

            /// The Euclidean norm of a vector; at the origin its gradient is 0.
            #[track_caller]
            fn norm(x: &[Self]) -> Self {
                length(x.iter().copied())
            }

            /// Adds `a` times `x` to `y`: one statement on a tape per element. Raises an error unless both have the same length.
            ///
            /// ```
            /// use wengert_scalar::Real;
            /// let mut y = [1.0, 2.0];
            /// f64::axpy(10.0, &[3.0, 4.0], &mut y);
            /// assert_eq!(y, [31.0, 42.0]);
            /// ```
            #[track_caller]
            fn axpy(a: Self, x: &[Self], y: &mut [Self]) {
                same_length("axpy", x, y);
                for (x, y) in x.iter().zip(y) {
                    *y = a.mul_add(*x, *y);
                }
            }

            /// Writes the product of a row-major matrix and `x` to `y`: one statement on a tape per row. Raises an error unless the sizes
            /// of the matrix and the vectors match.
            ///
            /// ```
            /// use wengert_scalar::Real;
            /// let mut y = [0.0; 2];
            /// f64::matvec(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 10.0, 100.0], &mut y);
            /// assert_eq!(y, [321.0, 654.0]);
            /// ```
            #[track_caller]
            fn matvec(matrix: &[Self], x: &[Self], y: &mut [Self]) {
                let (rows, columns, count) = (y.len(), x.len(), matrix.len());
                expect(count == rows * columns, "matvec", || {
                    format!("{count} numbers are no matrix of {rows} rows and {columns} columns")
                });
                for (row, y) in y.iter_mut().enumerate() {
                    *y = Self::dot(&matrix[row * columns..(row + 1) * columns], x);
                }
            }
        }

        floats!(f64; $($name = $tensor;)*);
        floats!(f32; $($name = $tensor;)*);
    };
}

macro_rules! floats {
    ($float:ident; $($name:ident = $tensor:ident;)*) => {
        impl Real for $float {
            #[inline(always)]
            fn lit(x: f64) -> $float {
                x as $float
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn recip(self) -> $float {
                $float::recip(self)
            }

            $(
                #[inline(always)]
                fn $name(self) -> $float {
                    wengert_kernels::functions::Functions::$tensor(self)
                }
            )*

            fn polygamma(self, n: u32) -> $float {
                wengert_kernels::math::polygamma(n, self)
            }

            #[inline(always)]
            fn powi(self, n: i32) -> $float {
                wengert_kernels::math::powi(self, i64::from(n))
            }

            #[inline(always)]
            fn powf(self, p: $float) -> $float {
                wengert_kernels::math::powf(self, p)
            }

            #[inline(always)]
            fn atan2(self, x: $float) -> $float {
                wengert_kernels::math::atan2(self, x)
            }

            #[inline(always)]
            fn hypot(self, other: $float) -> $float {
                wengert_kernels::math::hypot(self, other)
            }

            #[inline(always)]
            fn is_constant_zero(self) -> bool {
                self == 0.0
            }

            #[inline(always)]
            fn is_plain(self) -> bool {
                // A single comparison of the bits without the sign: 0 wraps around to the largest integer.
                (self.to_bits() << 1).wrapping_sub(1) < (<$float>::INFINITY.to_bits() << 1) - 1
            }

            #[inline(always)]
            fn guarded_mul(self, other: $float) -> $float {
                wengert_kernels::functions::guarded(self, other)
            }

            #[inline(always)]
            fn max(self, other: $float) -> $float {
                if self >= other || self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn min(self, other: $float) -> $float {
                if self <= other || self.is_nan() { self } else { other }
            }
        }
    };
}

wengert_kernels::functions!(trait_with);
