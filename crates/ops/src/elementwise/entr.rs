//! entr - entropy of one probability.   y = -x ln x, 0 at 0,   dy = -(ln x + 1) dx.   Domain: x >= 0; -infinity
//! below, where the gradient is NaN.

use crate::prelude::*;
use wengert_kernels::math::{Real, xlogy};

/// The methods of `entr`.
#[ext(EntrMethods)]
impl Tensor {
    /// Minus every element times its logarithm.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 1.0]).entr(), Tensor::from([0.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn entr(&self) -> Tensor {
        bind1(&ENTR, Attrs::new(), &[self])
    }
}

#[inline(always)]
fn entropy<T: Real>(x: T) -> T {
    if x < T::of(0.0) { T::of(f64::NEG_INFINITY) } else { -xlogy(x, x) }
}

elementwise! {
    ENTR = "entr",
    value: |x| entropy(x),
    slopes: [slope!(|x: operand 0| -(log(x) + 1.0))],
    rule: "dx = -(log(x) + 1) dy",
    reference: |x| -x * x.ln(),
    domain: Positive,
    edges: &[(0.0, 0.0), (1.0, 0.0), (-1.0, f64::NEG_INFINITY)],
    jet: Slope,
}
