//! log1p - logarithm of one more, accurate near 0.   y = ln(1 + x),   dy = dx / (1 + x).   Domain: x > -1; value
//! and gradient are NaN below -1.

use crate::ops::prelude::*;

impl Tensor {
    /// The natural logarithm of 1 plus every element, without cancellation near 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1e-20).log1p().item(), 1e-20);
    /// ```
    #[track_caller]
    pub fn log1p(&self) -> Tensor {
        bind1(&LOG1P, Attrs::new(), &[self])
    }
}

elementwise! {
    LOG1P = "log1p",
    value: |x| log1p(x),
    slices: log1p_slice(x),
    slopes: [slope!(|x: operand 0| 1.0 / (1.0 + nan_below(x, -1.0)))],
    rule: "dx = dy / (1 + x)",
    reference: |x| x.ln_1p(),
    domain: Positive,
    edges: &[(0.0, 0.0), (-1.0, f64::NEG_INFINITY), (-2.0, f64::NAN)],
    jet: Slope,
}
