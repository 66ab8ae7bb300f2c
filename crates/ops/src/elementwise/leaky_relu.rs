//! leaky_relu - rectifier with a slope below 0.   y = x where x > 0, else alpha x,   dy = dx where x > 0, else alpha dx.   Domain: all
//! reals. At the kink the subgradient of least norm: alpha, clamped between 0 and 1.

use crate::prelude::*;

/// The methods of `leaky_relu`.
#[ext(LeakyReluMethods)]
impl Tensor {
    /// Every element, multiplied by `alpha` where it is not positive.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 2.0]).leaky_relu(0.5), Tensor::from([-1.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn leaky_relu(&self, alpha: f64) -> Tensor {
        bind1(&LEAKY_RELU, Attrs::new().with_real("alpha", alpha), &[self])
    }
}

elementwise! {
    LEAKY_RELU = "leaky_relu",
    parameters: [alpha = 0.2],
    value: |x| if x > 0.0 { x } else { alpha * x },
    slopes: [slope!(|x: operand 0; alpha| above(x, 0.0, 1.0, at_zero(x, least_slope(alpha), alpha)))],
    rule: "dx = dy where x > 0, else alpha dy",
    reference: |x| x.max(0.0) + alpha * x.min(0.0),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
