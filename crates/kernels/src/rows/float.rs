//! The two floating-point types that row kernels compute in.

use super::exponential::{exp_f32, exp_f64};
use crate::matmul::ScaledProduct;

/// `f32` or `f64`, with the operations that formulas over rows need. The caller converts other dtypes.
///
/// ```
/// fn needs_float<T: wengert_kernels::rows::Float>() {}
/// needs_float::<f32>();
/// needs_float::<f64>();
/// ```
#[allow(private_bounds)]
pub trait Float: ScaledProduct {
    /// Infinity.
    #[doc(hidden)]
    const INFINITY: Self;

    /// `e^x`, branch-free; NaN stays NaN, results that are too small are 0.
    #[doc(hidden)]
    fn exp(self) -> Self;
}

macro_rules! float {
    ($($float:ty => $exp:ident),*) => { $(impl Float for $float {
        const INFINITY: Self = <$float>::INFINITY;

        #[inline(always)]
        fn exp(self) -> Self {
            $exp(self)
        }
    })* };
}
float!(f32 => exp_f32, f64 => exp_f64);

/// `value` if it is finite or NaN, else 0: the amount by which exponents may be shifted.
#[inline(always)]
pub(crate) fn finite_or_zero<T: Float>(value: T) -> T {
    if value == T::INFINITY || value == -T::INFINITY { T::ZERO } else { value }
}
