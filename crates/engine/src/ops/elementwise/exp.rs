//! exp - exponential.   y = e^x,   dy = y dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// e to the power of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).exp().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn exp(&self) -> Tensor {
        bind1(&EXP, Attrs::new(), &[self])
    }
}

elementwise! {
    EXP = "exp",
    value: |x| exp(x),
    slopes: [slope!(|y: output 0| y)],
    rule: "dx = y dy",
    reference: |x| std::f64::consts::E.powf(x),
    domain: Reals,
    edges: &[(0.0, 1.0), (f64::NEG_INFINITY, 0.0), (1e4, f64::INFINITY), (f64::NAN, f64::NAN)],
    jet: Slope,
}
