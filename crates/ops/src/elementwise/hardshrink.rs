//! hardshrink - x outside an interval around 0.   y = x where |x| > lambda, else 0,   dy = dx where |x| > lambda,
//! else 0.   Domain: all reals.

use crate::prelude::*;

/// The methods of `hardshrink`.
#[ext(HardshrinkMethods)]
impl Tensor {
    /// Every element whose absolute value exceeds `lambda`, 0 elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-1.0, 0.25]).hardshrink(0.5), Tensor::from([-1.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn hardshrink(&self, lambda: f64) -> Tensor {
        bind1(&HARDSHRINK, Attrs::new().with_real("lambda", lambda), &[self])
    }
}

elementwise! {
    HARDSHRINK = "hardshrink",
    parameters: [lambda = 0.5],
    value: |x| if abs(x) <= lambda { 0.0 } else { x },
    slopes: [slope!(|x: operand 0; lambda| above(abs(x), lambda, 1.0, 0.0))],
    rule: "dx = dy where |x| > lambda",
    reference: |x| x * f64::from(u8::from(x > lambda || x < -lambda)),
    domain: Points(|u, _| (away_from(&[-0.5, 0.5], 0.05, u), 0.0)),
    edges: &[(0.5, 0.0), (-0.5, 0.0), (f64::NAN, f64::NAN)],
    jet: Slope,
}
