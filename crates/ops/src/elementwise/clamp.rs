//! clamp - clamps between two bounds.   y = min(max(x, low), high),   dy = dx where low <= x <= high, else 0.   Domain: all reals and
//! integers; NaN propagates, also from a bound. The gradient passes at the bounds.

use crate::prelude::*;
use wengert_kernels::math::Real;

/// The methods of `clamp`.
#[ext(ClampMethods)]
impl Tensor {
    /// Clamps every element between two bounds, numbers or tensors. See [`clamp_min`](Tensor::clamp_min) and
    /// [`clamp_max`](Tensor::clamp_max) for one bound.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-3.0, 0.5, 3.0]).clamp(-1.0, 1.0), Tensor::from([-1.0, 0.5, 1.0]));
    /// ```
    #[track_caller]
    pub fn clamp(&self, low: impl Operand, high: impl Operand) -> Tensor {
        if low.own_dtype().is_some() || high.own_dtype().is_some() {
            return self.clamp_min(low).clamp_max(high);
        }
        clamp_to_numbers(self, number(&low, self.dtype()), number(&high, self.dtype()))
    }
}

/// A number as a bound for tensors of `dtype`; an error if it does not fit.
#[track_caller]
pub(super) fn number(bound: &impl Operand, dtype: DType) -> f64 {
    bound.tensor(dtype).to_f64_vec()[0]
}

/// Infinite bounds are omitted.
#[track_caller]
pub(super) fn clamp_to_numbers(x: &Tensor, low: f64, high: f64) -> Tensor {
    bind1(&CLAMP, Attrs::new().with_real("low", low).with_real("high", high), &[x])
}

/// A NaN bound is not equal to itself.
#[allow(clippy::eq_op)]
#[inline(always)]
fn bounded<T: Real>(x: T, low: T, high: T) -> T {
    let x = if x < low || low != low { low } else { x };
    if x > high || high != high { high } else { x }
}

elementwise! {
    CLAMP = "clamp",
    parameters: [low = -0.8, high = 1.1],
    value: |x| bounded(x, low, high),
    integer: |x| x.max(low).min(high),
    slopes: [slope!(|x: operand 0; low, high| within(x, low, high, 1.0, 0.0))],
    rule: "dx = dy where low <= x <= high",
    reference: |x| x.max(low).min(high),
    domain: Points(|u, _| (away_from(&[-0.8, 1.1], 0.05, u), 0.0)),
    edges: &[(-1.0, -0.8), (2.0, 1.1), (f64::NAN, f64::NAN)],
    jet: Slope,
}
