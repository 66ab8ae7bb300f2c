//! log - natural logarithm.   y = ln x,   dy = dx / x.   Domain: x > 0; log 0 is -infinity with an infinite slope; value and
//! gradient are NaN for x < 0, where the textbook slope would be finite.

use crate::ops::prelude::*;

impl Tensor {
    /// The natural logarithm of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).log().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn log(&self) -> Tensor {
        bind1(&LOG, Attrs::new(), &[self])
    }
}

elementwise! {
    LOG = "log",
    value: |x| log(x),
    slopes: [slope!(|x: operand 0| 1.0 / nan_below(x, 0.0))],
    rule: "dx = dy / x",
    reference: |x| x.log2() * std::f64::consts::LN_2,
    domain: Positive,
    edges: &[(1.0, 0.0), (0.0, f64::NEG_INFINITY), (-1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
