//! maximum - larger of two.   z = max(x, y),   dz = dx or dy, of the selected one.   Domain: all reals and integers; NaN of either side
//! propagates. At a tie each side gets half: the subgradient of least norm.

use crate::prelude::*;

/// The methods of `maximum`.
#[ext(MaximumMethods)]
impl Tensor {
    /// The larger of two elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 5.0]).maximum(&Tensor::from([2.0, 3.0])), Tensor::from([2.0, 5.0]));
    /// ```
    #[track_caller]
    pub fn maximum(&self, other: impl Operand) -> Tensor {
        binary(&MAXIMUM, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    MAXIMUM = "maximum",
    value: |x, y| if (x >= y) | x.is_nan() { x } else { y },
    integer: |x, y| x.max(y),
    slopes: [
        slope!(both |x: operand 0, y: operand 1| share(x, y)),
        slope!(both |x: operand 0, y: operand 1| share(y, x))
    ],
    rule: "dz to the one chosen, half to each at a tie",
    reference: |x, y| 0.5 * (x + y + (x - y).abs()),
    domain: Points(|u, v| (u, u + 0.5 * v + 0.3f64.copysign(v))),
    edges: &[(1.0, 1.0, 1.0), (f64::NAN, 1.0, f64::NAN), (1.0, f64::NAN, f64::NAN)],
    jet: Slope,
}
