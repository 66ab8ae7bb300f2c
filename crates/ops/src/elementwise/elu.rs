//! elu - exponential linear unit.   y = x where x > 0, else alpha (e^x - 1),   dy = dx where x > 0, else alpha e^x dx.   Domain: all reals.
//! At the kink the subgradient of least norm: alpha, clamped between 0 and 1.

use crate::prelude::*;

/// The methods of `elu`.
#[ext(EluMethods)]
impl Tensor {
    /// Every element, or `alpha (e^x - 1)` where it is not positive.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0]).elu(1.0), Tensor::from([0.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Tensor {
        bind1(&ELU, Attrs::new().with_real("alpha", alpha), &[self])
    }
}

elementwise! {
    ELU = "elu",
    parameters: [alpha = 1.3],
    value: |x| if x > 0.0 { x } else { alpha * expm1(x) },
    slopes: [slope!(|x: operand 0; alpha| above(x, 0.0, 1.0, at_zero(x, least_slope(alpha), alpha * exp(x))))],
    rule: "dx = dy where x > 0, else alpha exp(x) dy",
    reference: |x| x.max(0.0) + alpha * (x.min(0.0).exp() - 1.0),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, -1.3)],
    jet: Slope,
}
