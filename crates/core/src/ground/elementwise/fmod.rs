//! fmod - remainder with the sign of the dividend.   z = x - trunc(x/y) y,   dz = dx - trunc(x/y) dy.   Domain: y != 0, NaN at 0; integers
//! give 0 there.

use crate::ground::prelude::*;

impl Tensor {
    /// The remainder of division, with the sign of this tensor.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-7.0, 7.0]).fmod(3.0), Tensor::from([-1.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn fmod(&self, other: impl Operand) -> Tensor {
        binary(&FMOD, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    FMOD = "fmod",
    value: |x, y| fmod(x, y),
    slices: fmod_slice(x, y),
    integer: |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) },
    slopes: [
        slope!(one),
        slope!(|x: operand 0, y: operand 1| -round((x - fmod(x, y)) / y))
    ],
    rule: "dx = dz, dy = -round((x - z) / y) dz",
    reference: |x, y| x % y,
    domain: Points(|u, v| { let y = (1.0 + 0.2 * v).copysign(v); (y * ((1.5 * u).round() + 0.5 + 0.1 * u), y) }),
    edges: &[(5.0, 0.0, f64::NAN), (-7.0, 3.0, -1.0), (7.0, -3.0, 1.0)],
    jet: Slope,
}
