//! celu - exponential linear unit with a continuous slope.   y = x where x > 0, else alpha (e^(x/alpha) - 1),   dy
//! = dx where x > 0, else e^(x/alpha) dx.   Domain: all reals.

use crate::prelude::*;

/// The methods of `celu`.
#[ext(CeluMethods)]
impl Tensor {
    /// Every element, or `alpha (e^(x / alpha) - 1)` where it is not positive.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0]).celu(0.5), Tensor::from([0.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn celu(&self, alpha: f64) -> Tensor {
        bind1(&CELU, Attrs::new().with_real("alpha", alpha), &[self])
    }
}

elementwise! {
    CELU = "celu",
    parameters: [alpha = 0.7],
    value: |x| if x > 0.0 { x } else { alpha * expm1(x / alpha) },
    slopes: [slope!(|x: operand 0; alpha| above(x, 0.0, 1.0, exp(x / alpha)))],
    rule: "dx = dy where x > 0, else exp(x/alpha) dy",
    reference: |x| x.max(0.0) + alpha * ((x.min(0.0) / alpha).exp() - 1.0),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, -0.7)],
    jet: Slope,
}
