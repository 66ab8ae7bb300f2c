//! asinh - inverse hyperbolic sine.   y = asinh x,   dy = dx / sqrt(1 + x^2).   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The inverse hyperbolic sine of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).asinh().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn asinh(&self) -> Tensor {
        bind1(&ASINH, Attrs::new(), &[self])
    }
}

elementwise! {
    ASINH = "asinh",
    value: |x| asinh(x),
    slices: asinh_slice(x),
    slopes: [slope!(|x: operand 0| 1.0 / hypot(x, 1.0))],
    rule: "dx = dy / sqrt(1 + x^2)",
    reference: |x| x.signum() * (x.abs() + (1.0 + x * x).sqrt()).ln(),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY)],
    jet: Slope,
}
