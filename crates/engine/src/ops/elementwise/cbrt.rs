//! cbrt - cube root.   y = x^(1/3),   dy = dx / (3 y^2).   Domain: all reals; the slope at 0 is infinite.

use crate::ops::prelude::*;

impl Tensor {
    /// The real cube root of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(-27.0).cbrt().item(), -3.0);
    /// ```
    #[track_caller]
    pub fn cbrt(&self) -> Tensor {
        bind1(&CBRT, Attrs::new(), &[self])
    }
}

elementwise! {
    CBRT = "cbrt",
    value: |x| cbrt(x),
    slices: cbrt_slice(x),
    slopes: [slope!(|y: output 0| 1.0 / (3.0 * y * y))],
    rule: "dx = dy / (3 y^2)",
    reference: |x| x.signum() * x.abs().powf(1.0 / 3.0),
    domain: Positive,
    edges: &[(0.0, 0.0), (-8.0, -2.0)],
    jet: Slope,
}
