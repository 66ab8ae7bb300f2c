//! asin - arc sine.   y = asin x,   dy = dx / sqrt(1 - x^2).   Domain: -1 to 1, NaN outside; infinite slope at the ends.

use crate::ops::prelude::*;

impl Tensor {
    /// The arc sine of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert!((Tensor::from(1.0).asin().item() - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
    /// ```
    #[track_caller]
    pub fn asin(&self) -> Tensor {
        bind1(&ASIN, Attrs::new(), &[self])
    }
}

elementwise! {
    ASIN = "asin",
    value: |x| asin(x),
    slopes: [slope!(|x: operand 0| 1.0 / sqrt((1.0 - x) * (1.0 + x)))],
    rule: "dx = dy / sqrt(1 - x^2)",
    reference: |x| x.atan2(((1.0 - x) * (1.0 + x)).sqrt()),
    domain: Within(-0.7, 0.7),
    edges: &[(0.0, 0.0), (1.0, std::f64::consts::FRAC_PI_2), (1.5, f64::NAN)],
    jet: Slope,
}
