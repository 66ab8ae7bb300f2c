//! expm1 - exponential minus one, accurate near 0.   y = e^x - 1,   dy = e^x dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// e to the power of every element, minus 1, without cancellation near 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1e-20).expm1().item(), 1e-20);
    /// ```
    #[track_caller]
    pub fn expm1(&self) -> Tensor {
        bind1(&EXPM1, Attrs::new(), &[self])
    }
}

elementwise! {
    EXPM1 = "expm1",
    value: |x| expm1(x),
    slices: expm1_slice(x),
    slopes: [slope!(|x: operand 0| exp(x))],
    rule: "dx = exp(x) dy",
    reference: |x| x.exp_m1(),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::NEG_INFINITY, -1.0), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
