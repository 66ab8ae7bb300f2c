//! copysign - absolute value of one, sign of the other.   z = |x| with the sign of y,   dz = sign(x) sign(z) dx.   Domain: all reals,
//! including signed zeros; at x = 0 the subgradient of least norm: 0.

use crate::prelude::*;

/// The methods of `copysign`.
#[ext(CopysignMethods)]
impl Tensor {
    /// The absolute value of every element with the sign of the other's.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, -3.0]).copysign(-1.0), Tensor::from([-3.0, -3.0]));
    /// ```
    #[track_caller]
    pub fn copysign(&self, other: impl Operand) -> Tensor {
        binary(&COPYSIGN, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    COPYSIGN = "copysign",
    value: |x, y| x.copysign(y),
    slopes: [
        slope!(|x: operand 0, z: output 0| sign(x) * sign(z)),
        slope!(zero)
    ],
    rule: "dx = sign(x) sign(z) dz",
    reference: |x, y| x.abs() * y.signum(),
    domain: Points(|u, v| (away_from(&[0.0], 0.05, u), away_from(&[0.0], 0.05, v))),
    edges: &[(0.0, -1.0, 0.0), (2.0, -0.0, -2.0)],
    jet: Slope,
}
