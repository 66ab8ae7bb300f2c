//! softshrink - soft thresholding toward 0.   y = x - lambda where x > lambda, x + lambda where x < -lambda, else 0,   dy = dx where
//! |x| > lambda, else 0.   Domain: all reals. At the kinks the subgradient of least norm: 0.

use crate::prelude::*;

/// The methods of `softshrink`.
#[ext(SoftshrinkMethods)]
impl Tensor {
    /// Every element moved toward 0 by `lambda`, but not beyond 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-1.0, 0.25, 2.0]).softshrink(0.5), Tensor::from([-0.5, 0.0, 1.5]));
    /// ```
    #[track_caller]
    pub fn softshrink(&self, lambda: f64) -> Tensor {
        bind1(&SOFTSHRINK, Attrs::new().with_real("lambda", lambda), &[self])
    }
}

elementwise! {
    SOFTSHRINK = "softshrink",
    parameters: [lambda = 0.5],
    value: |x| if x > lambda { x - lambda } else if x < -lambda { x + lambda } else { x * 0.0 },
    slopes: [slope!(|x: operand 0; lambda| above(abs(x), lambda, 1.0, 0.0))],
    rule: "dx = dy where |x| > lambda",
    reference: |x| x - x.clamp(-lambda, lambda),
    domain: Points(|u, _| (away_from(&[-0.5, 0.5], 0.05, u), 0.0)),
    edges: &[(0.5, 0.0), (-0.5, 0.0), (f64::NAN, f64::NAN)],
    jet: Slope,
}
