//! remainder - remainder with the sign of the divisor.   z = x - floor(x/y) y,   dz = dx - floor(x/y) dy.   Domain: y != 0, NaN at 0;
//! integers give 0 there.

use crate::prelude::*;

/// The methods of `remainder`.
#[ext(RemainderMethods)]
impl Tensor {
    /// The remainder of division, with the sign of the divisor, as in Python.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-7.0, 7.0]).remainder(3.0), Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn remainder(&self, other: impl Operand) -> Tensor {
        binary(&REMAINDER, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    REMAINDER = "remainder",
    value: |x, y| remainder(x, y),
    slices: remainder_slice(x, y),
    integer: |x, y| if y == 0 { 0 } else { x.wrapping_sub((x.wrapping_div(y) - i64::from(x.wrapping_rem(y) != 0 && (x < 0) != (y < 0))).wrapping_mul(y)) },
    slopes: [
        slope!(one),
        slope!(|x: operand 0, y: operand 1| -floor(x / y))
    ],
    rule: "dx = dz, dy = -floor(x/y) dz",
    reference: |x, y| x - (x / y).floor() * y,
    domain: Points(|u, v| { let y = (1.0 + 0.2 * v).copysign(v); (y * ((1.5 * u).round() + 0.5 + 0.1 * u), y) }),
    edges: &[(5.0, 0.0, f64::NAN), (-7.0, 3.0, 2.0), (7.0, -3.0, -2.0)],
    jet: Slope,
}
