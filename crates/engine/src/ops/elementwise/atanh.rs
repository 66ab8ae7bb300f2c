//! atanh - inverse hyperbolic tangent.   y = atanh x,   dy = dx / (1 - x^2).   Domain: -1 to 1, infinite at the
//! ends; value and gradient are NaN outside.

use crate::ops::prelude::*;

impl Tensor {
    /// The inverse hyperbolic tangent of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).atanh().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn atanh(&self) -> Tensor {
        bind1(&ATANH, Attrs::new(), &[self])
    }
}

elementwise! {
    ATANH = "atanh",
    value: |x| atanh(x),
    slices: atanh_slice(x),
    slopes: [slope!(|x: operand 0| 1.0 / ((1.0 - nan_beyond(x, 1.0)) * (1.0 + x)))],
    rule: "dx = dy / (1 - x^2)",
    reference: |x| 0.5 * ((1.0 + x) / (1.0 - x)).ln(),
    domain: Within(-0.7, 0.7),
    edges: &[(0.0, 0.0), (1.0, f64::INFINITY), (1.5, f64::NAN), (-2.0, f64::NAN)],
    jet: Slope,
}
