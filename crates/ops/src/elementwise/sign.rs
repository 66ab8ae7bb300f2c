//! sign - sign of every element.   y = -1, 0 or 1,   dy = 0.   Domain: all reals and integers; NaN stays NaN.

use crate::prelude::*;

/// The methods of `sign`.
#[ext(SignMethods)]
impl Tensor {
    /// The sign of every element: -1, 0 or 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-3.0, 0.0, 2.0]).sign(), Tensor::from([-1.0, 0.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn sign(&self) -> Tensor {
        bind1(&SIGN, Attrs::new(), &[self])
    }
}

elementwise! {
    SIGN = "sign",
    value: |x| sign(x),
    integer: |x| x.signum(),
    slopes: [slope!(zero)],
    rule: "no gradient",
    reference: |x| if x == 0.0 { 0.0 } else { x / x.abs() },
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::NEG_INFINITY, -1.0), (f64::NAN, f64::NAN)],
    jet: Constant,
}
