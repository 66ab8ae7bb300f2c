//! log2 - logarithm to base 2.   y = log2 x,   dy = dx / (x ln 2).   Domain: x > 0; value and gradient are NaN for
//! x < 0.

use crate::ops::prelude::*;

impl Tensor {
    /// The logarithm of every element to base 2.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(8.0).log2().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn log2(&self) -> Tensor {
        bind1(&LOG2, Attrs::new(), &[self])
    }
}

elementwise! {
    LOG2 = "log2",
    value: |x| log2(x),
    slopes: [slope!(|x: operand 0| 1.0 / scale(nan_below(x, 0.0), std::f64::consts::LN_2))],
    rule: "dx = dy / (x ln 2)",
    reference: |x| x.ln() / std::f64::consts::LN_2,
    domain: Positive,
    edges: &[(8.0, 3.0), (0.0, f64::NEG_INFINITY), (-1.0, f64::NAN)],
    jet: Slope,
}
