//! sigmoid - logistic function.   y = 1 / (1 + e^-x),   dy = y (1 - y) dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The logistic function of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).sigmoid().item(), 0.5);
    /// ```
    #[track_caller]
    pub fn sigmoid(&self) -> Tensor {
        bind1(&SIGMOID, Attrs::new(), &[self])
    }
}

elementwise! {
    SIGMOID = "sigmoid",
    value: |x| sigmoid(x),
    slopes: [slope!(|y: output 0| y * (1.0 - y))],
    rule: "dx = y (1 - y) dy",
    reference: |x| 0.5 + 0.5 * (0.5 * x).tanh(),
    domain: Reals,
    edges: &[(0.0, 0.5), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0), (-1e4, 0.0)],
    jet: Slope,
}
