//! cosh - hyperbolic cosine.   y = cosh x,   dy = sinh x dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The hyperbolic cosine of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).cosh().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn cosh(&self) -> Tensor {
        bind1(&COSH, Attrs::new(), &[self])
    }
}

elementwise! {
    COSH = "cosh",
    value: |x| cosh(x),
    slices: cosh_slice(x),
    slopes: [slope!(|x: operand 0| sinh(x), slices: sinh_slice(x))],
    rule: "dx = sinh(x) dy",
    reference: |x| 0.5 * (x.exp() + (-x).exp()),
    domain: Reals,
    edges: &[(0.0, 1.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::INFINITY)],
    jet: Slope,
}
