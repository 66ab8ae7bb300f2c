//! logsigmoid - logarithm of sigmoid.   y = -ln(1 + e^-x),   dy = sigmoid(-x) dx.   Domain: all reals; never
//! overflows.

use crate::prelude::*;

/// The methods of `logsigmoid`.
#[ext(LogsigmoidMethods)]
impl Tensor {
    /// The logarithm of the sigmoid of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, -1e4]).logsigmoid(), Tensor::from([-std::f64::consts::LN_2, -1e4]));
    /// ```
    #[track_caller]
    pub fn logsigmoid(&self) -> Tensor {
        bind1(&LOGSIGMOID, Attrs::new(), &[self])
    }
}

elementwise! {
    LOGSIGMOID = "logsigmoid",
    value: |x| logsigmoid(x),
    slices: logsigmoid_slice(x),
    slopes: [slope!(|x: operand 0| sigmoid(-x))],
    rule: "dx = sigmoid(-x) dy",
    reference: |x| -((-x).exp() + 1.0).ln(),
    domain: Reals,
    edges: &[(1e4, 0.0), (-1e4, -1e4), (f64::NEG_INFINITY, f64::NEG_INFINITY)],
    jet: Slope,
}
