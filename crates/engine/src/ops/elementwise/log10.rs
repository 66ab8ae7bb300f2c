//! log10 - logarithm to base 10.   y = log10 x,   dy = dx / (x ln 10).   Domain: x > 0; value and gradient are NaN
//! for x < 0.

use crate::ops::prelude::*;

impl Tensor {
    /// The logarithm of every element to base 10.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1000.0).log10().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn log10(&self) -> Tensor {
        bind1(&LOG10, Attrs::new(), &[self])
    }
}

elementwise! {
    LOG10 = "log10",
    value: |x| log10(x),
    slopes: [slope!(|x: operand 0| 1.0 / scale(nan_below(x, 0.0), std::f64::consts::LN_10))],
    rule: "dx = dy / (x ln 10)",
    reference: |x| x.ln() / std::f64::consts::LN_10,
    domain: Positive,
    edges: &[(100.0, 2.0), (0.0, f64::NEG_INFINITY), (-1.0, f64::NAN)],
    jet: Slope,
}
