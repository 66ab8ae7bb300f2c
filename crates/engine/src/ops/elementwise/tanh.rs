//! tanh - hyperbolic tangent.   y = tanh x,   dy = (1 - y^2) dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The hyperbolic tangent of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).tanh().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn tanh(&self) -> Tensor {
        bind1(&TANH, Attrs::new(), &[self])
    }
}

elementwise! {
    TANH = "tanh",
    value: |x| tanh(x),
    slopes: [slope!(|y: output 0| 1.0 - y * y)],
    rule: "dx = (1 - y^2) dy",
    reference: |x| 1.0 - 2.0 / ((2.0 * x).exp() + 1.0),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, -1.0)],
    jet: Slope,
}
