//! clamp_max - clamps from above.   z = y where x > y, else x,   dz = dy there, dx elsewhere.   Domain: all reals and integers; NaN of
//! either side propagates. At a tie the gradient goes to x.

use crate::elementwise::clamp::{clamp_to_numbers, number};
use crate::prelude::*;

/// The methods of `clamp_max`.
#[ext(ClampMaxMethods)]
impl Tensor {
    /// Every element, or the bound where the element exceeds it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.5, 3.0]).clamp_max(1.0), Tensor::from([0.5, 1.0]));
    /// ```
    #[track_caller]
    pub fn clamp_max(&self, bound: impl Operand) -> Tensor {
        match bound.own_dtype() {
            Some(_) => binary(&CLAMP_MAX, Attrs::new(), self, &bound.tensor(self.dtype())),
            None => clamp_to_numbers(self, f64::NEG_INFINITY, number(&bound, self.dtype())),
        }
    }
}

elementwise! {
    CLAMP_MAX = "clamp_max",
    value: |x, y| if (x <= y) | x.is_nan() { x } else { y },
    integer: |x, y| x.min(y),
    slopes: [
        slope!(|x: operand 0, y: operand 1| passes(-x, -y)),
        slope!(|x: operand 0, y: operand 1| 1.0 - passes(-x, -y))
    ],
    rule: "dx = dz where x <= y, dy = dz elsewhere",
    reference: |x, y| x.min(y),
    domain: Points(|u, v| (u, u + 0.5 * v + 0.3f64.copysign(v))),
    edges: &[(1.0, 1.0, 1.0), (f64::NAN, 1.0, f64::NAN), (1.0, f64::NAN, f64::NAN)],
    jet: Slope,
}
