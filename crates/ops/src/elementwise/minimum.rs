//! minimum - smaller of two.   z = min(x, y),   dz = dx or dy, of the selected one.   Domain: all reals and integers; NaN of either side
//! propagates. At a tie each side gets half: the subgradient of least norm.

use crate::prelude::*;

/// The methods of `minimum`.
#[ext(MinimumMethods)]
impl Tensor {
    /// The smaller of two elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 5.0]).minimum(&Tensor::from([2.0, 3.0])), Tensor::from([1.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn minimum(&self, other: impl Operand) -> Tensor {
        binary(&MINIMUM, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    MINIMUM = "minimum",
    value: |x, y| if (x <= y) | x.is_nan() { x } else { y },
    integer: |x, y| x.min(y),
    slopes: [
        slope!(both |x: operand 0, y: operand 1| share(y, x)),
        slope!(both |x: operand 0, y: operand 1| share(x, y))
    ],
    rule: "dz to the one chosen, half to each at a tie",
    reference: |x, y| 0.5 * (x + y - (x - y).abs()),
    domain: Points(|u, v| (u, u + 0.5 * v + 0.3f64.copysign(v))),
    edges: &[(1.0, 1.0, 1.0), (f64::NAN, 1.0, f64::NAN), (1.0, f64::NAN, f64::NAN)],
    jet: Slope,
}
