//! atan2 - angle of a point.   z = the angle of (x, y) with y first,   dz = (x dy - y dx) / (x^2 + y^2).   Domain:
//! the plane; at the origin the gradient is 0.

use crate::prelude::*;

/// The methods of `atan2`.
#[ext(Atan2Methods)]
impl Tensor {
    /// The angle of the point `(x, self)`, from -pi to pi.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1.0).atan2(1.0).item(), std::f64::consts::FRAC_PI_4);
    /// ```
    #[track_caller]
    pub fn atan2(&self, x: impl Operand) -> Tensor {
        binary(&ATAN2, Attrs::new(), self, &x.tensor(self.dtype()))
    }
}

elementwise! {
    ATAN2 = "atan2",
    value: |y, x| atan2(y, x),
    slices: atan2_slice(y, x),
    slopes: [
        slope!(|y: operand 0, x: operand 1| ratio(ratio(x, hypot(x, y)), hypot(x, y))),
        slope!(|y: operand 0, x: operand 1| -ratio(ratio(y, hypot(x, y)), hypot(x, y)))
    ],
    rule: "dy = x dz / (x^2 + y^2), dx = -y dz / (x^2 + y^2)",
    reference: |y, x| (y / x).atan(),
    domain: Positive,
    edges: &[(0.0, 0.0, 0.0), (1.0, 0.0, std::f64::consts::FRAC_PI_2), (0.0, -1.0, std::f64::consts::PI)],
    jet: Slope,
}
