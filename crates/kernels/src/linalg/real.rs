//! The two types that decompositions compute in.

use crate::matmul::ScaledProduct;

/// `f32` or `f64`: a compute type with square roots.
///
/// ```
/// use wengert_kernels::linalg::Real;
/// fn hypotenuse<T: Real>(x: T, y: T) -> T { (x * x + y * y).root() }
/// assert_eq!(hypotenuse(3f32, 4.0), 5.0);
/// ```
#[allow(private_bounds)]
pub trait Real: ScaledProduct {
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// Not a number.
    const NAN: Self;
    /// The largest power of two that scaling uses; its reciprocal is a normal number.
    #[doc(hidden)]
    const LARGEST_SCALE: i32;

    /// The square root.
    fn root(self) -> Self;

    /// The absolute value.
    fn magnitude(self) -> Self;

    /// Whether this is neither NaN nor infinite.
    fn finite(self) -> bool;

    /// This magnitude with the sign of `sign`.
    fn with_sign_of(self, sign: Self) -> Self;
}

macro_rules! real {
    ($($float:ident, $scale:expr;)*) => { $(impl Real for $float {
        const EPSILON: Self = $float::EPSILON;
        const NAN: Self = $float::NAN;
        const LARGEST_SCALE: i32 = $scale;

        #[inline(always)]
        fn root(self) -> Self {
            self.sqrt()
        }

        #[inline(always)]
        fn magnitude(self) -> Self {
            self.abs()
        }

        #[inline(always)]
        fn finite(self) -> bool {
            self.is_finite()
        }

        #[inline(always)]
        fn with_sign_of(self, sign: Self) -> Self {
            self.copysign(sign)
        }
    })* };
}
real! { f32, 120; f64, 1000; }

/// The entry of largest magnitude, the first among equals; 0 if there is none.
pub(crate) fn largest_entry<T: Real>(a: &[T]) -> T {
    a.iter().fold(T::ZERO, |most, &x| if x.magnitude() > most.magnitude() { x } else { most })
}

/// The power of two that scales the largest magnitude of `a` to about 1, and its reciprocal. Scaling by them is exact.
pub(super) fn scale_of<T: Real>(a: &[T]) -> (T, T) {
    let largest = largest_entry(a).magnitude();
    if largest == T::ZERO {
        return (T::ONE, T::ONE);
    }
    let exponent = (largest.to_f64().log2().floor() as i32).clamp(-T::LARGEST_SCALE, T::LARGEST_SCALE);
    (T::from_f64(2f64.powi(-exponent)), T::from_f64(2f64.powi(exponent)))
}
