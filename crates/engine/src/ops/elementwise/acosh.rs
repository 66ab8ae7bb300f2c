//! acosh - inverse hyperbolic cosine.   y = acosh x,   dy = dx / sqrt(x^2 - 1).   Domain: x >= 1; value and
//! gradient are NaN below; infinite slope at 1.

use crate::ops::prelude::*;

impl Tensor {
    /// The inverse hyperbolic cosine of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).acosh().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn acosh(&self) -> Tensor {
        bind1(&ACOSH, Attrs::new(), &[self])
    }
}

elementwise! {
    ACOSH = "acosh",
    value: |x| acosh(x),
    slices: acosh_slice(x),
    slopes: [slope!(|x: operand 0| 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)))],
    rule: "dx = dy / sqrt(x^2 - 1)",
    reference: |x| (x + (x * x - 1.0).sqrt()).ln(),
    domain: Within(1.4, 3.6),
    edges: &[(1.0, 0.0), (0.5, f64::NAN), (-2.0, f64::NAN)],
    jet: Slope,
}
