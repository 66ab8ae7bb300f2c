//! sinh - hyperbolic sine.   y = sinh x,   dy = cosh x dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The hyperbolic sine of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).sinh().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn sinh(&self) -> Tensor {
        bind1(&SINH, Attrs::new(), &[self])
    }
}

elementwise! {
    SINH = "sinh",
    value: |x| sinh(x),
    slices: sinh_slice(x),
    slopes: [slope!(|x: operand 0| cosh(x))],
    rule: "dx = cosh(x) dy",
    reference: |x| 0.5 * (x.exp() - (-x).exp()),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY)],
    jet: Slope,
}
