//! atan - arc tangent.   y = atan x,   dy = dx / (1 + x^2).   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The arc tangent of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).atan().item(), std::f64::consts::FRAC_PI_4);
    /// ```
    #[track_caller]
    pub fn atan(&self) -> Tensor {
        bind1(&ATAN, Attrs::new(), &[self])
    }
}

elementwise! {
    ATAN = "atan",
    value: |x| atan(x),
    slices: atan_slice(x),
    slopes: [slope!(|x: operand 0| 1.0 / (1.0 + x * x))],
    rule: "dx = dy / (1 + x^2)",
    reference: |x| (x / (1.0 + x * x).sqrt()).asin(),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, std::f64::consts::FRAC_PI_2), (f64::NEG_INFINITY, -std::f64::consts::FRAC_PI_2)],
    jet: Slope,
}
