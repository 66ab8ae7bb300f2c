//! acos - arc cosine.   y = acos x,   dy = -dx / sqrt(1 - x^2).   Domain: -1 to 1, NaN outside; infinite slope at
//! the ends.

use crate::ops::prelude::*;

impl Tensor {
    /// The arc cosine of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).acos().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn acos(&self) -> Tensor {
        bind1(&ACOS, Attrs::new(), &[self])
    }
}

elementwise! {
    ACOS = "acos",
    value: |x| acos(x),
    slices: acos_slice(x),
    slopes: [slope!(|x: operand 0| -1.0 / sqrt((1.0 - x) * (1.0 + x)))],
    rule: "dx = -dy / sqrt(1 - x^2)",
    reference: |x| ((1.0 - x) * (1.0 + x)).sqrt().atan2(x),
    domain: Within(-0.7, 0.7),
    edges: &[(1.0, 0.0), (-1.0, std::f64::consts::PI), (1.5, f64::NAN)],
    jet: Slope,
}
