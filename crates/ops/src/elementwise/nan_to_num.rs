//! nan_to_num - replaces NaN and infinities by numbers.   y = nan, above or below where x is NaN, infinity or -infinity, else x,   dy = dx
//! where x is finite, else 0.   Domain: everything.

use crate::prelude::*;
use wengert_kernels::math::Real;

/// The methods of `nan_to_num`.
#[ext(NanToNumMethods)]
impl Tensor {
    /// Replaces NaN by zero, and the infinities by the largest and smallest numbers of the dtype.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::NAN, f64::INFINITY, 1.0]).nan_to_num(), Tensor::from([0.0, f64::MAX, 1.0]));
    /// ```
    #[track_caller]
    pub fn nan_to_num(&self) -> Tensor {
        let largest = match self.dtype() {
            DType::F32 => f64::from(f32::MAX),
            DType::BF16 => 3.3895313892515355e38,
            DType::F16 => 65504.0,
            _ => f64::MAX,
        };
        self.nan_to_num_with(0.0, largest, -largest)
    }

    /// Replaces NaN, infinity and minus infinity by these numbers.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([f64::NAN, f64::NEG_INFINITY, 1.0]);
    /// assert_eq!(x.nan_to_num_with(0.0, 9.0, -9.0), Tensor::from([0.0, -9.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn nan_to_num_with(&self, nan: f64, above: f64, below: f64) -> Tensor {
        if !self.dtype().is_float() {
            return self.clone();
        }
        let attrs = Attrs::new().with_real("nan", nan).with_real("above", above).with_real("below", below);
        bind1(&NAN_TO_NUM, attrs, &[self])
    }
}

#[inline(always)]
fn finite<T: Real>(x: T, nan: T, above: T, below: T) -> T {
    let x = if x == T::of(f64::INFINITY) { above } else { x };
    let x = if x == T::of(f64::NEG_INFINITY) { below } else { x };
    if x.is_nan() { nan } else { x }
}

elementwise! {
    NAN_TO_NUM = "nan_to_num",
    parameters: [nan = 0.5, above = 7.0, below = -7.0],
    value: |x| finite(x, nan, above, below),
    slopes: [slope!(|x: operand 0; _nan, _above, _below| between(x, constant(f64::NEG_INFINITY), constant(f64::INFINITY), 1.0, 0.0))],
    rule: "dx = dy where x is finite",
    reference: |x| [x, [above, below][usize::from(x < 0.0)], nan][if x.is_nan() { 2 } else { usize::from(x.is_infinite()) }],
    domain: Reals,
    edges: &[(f64::NAN, 0.5), (f64::INFINITY, 7.0), (f64::NEG_INFINITY, -7.0)],
    jet: Slope,
}
