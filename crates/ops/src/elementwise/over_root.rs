//! over_root - quotient by a square root bounded away from 0.   z = x / (sqrt(y) + e),   dz = dx / (sqrt(y) + e) - x dy / (2 sqrt(y)
//! (sqrt(y) + e)^2).   Domain: y >= 0. The step of Adam and related optimisers: a mean divided by the root of a mean of squares, in one
//! pass over memory.

use crate::prelude::*;

/// The methods of `over_root`.
#[ext(OverRootMethods)]
impl Tensor {
    /// Every element divided by the square root of the other's plus `e`.
    ///
    /// ```
    /// use wengert::{fused::*, prelude::*};
    /// assert_eq!(Tensor::from([6.0, 1.0]).over_root(&Tensor::from([4.0, 0.0]), 1.0), Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn over_root(&self, other: impl Operand, e: f64) -> Tensor {
        binary(&OVER_ROOT, Attrs::new().with_real("e", e), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    OVER_ROOT = "over_root",
    parameters: [e = 0.25],
    value: |x, y| x / (sqrt(y) + e),
    slopes: [
        slope!(|y: operand 1; e| 1.0 / (sqrt(y) + e)),
        slope!(|x: operand 0, y: operand 1; e| x / (-2.0 * sqrt(y) * square(sqrt(y) + e)))
    ],
    rule: "dx = dz / (sqrt(y) + e), dy = -x dz / (2 sqrt(y) (sqrt(y) + e)^2)",
    reference: |x, y| x * (e + y.powf(0.5)).recip(),
    domain: Positive,
    edges: &[(1.0, 0.0, 4.0), (1.0, -1.0, f64::NAN), (0.0, f64::INFINITY, 0.0)],
    jet: Slope,
}
