//! fmax - larger of two, NaN ignored.   z = max(x, y), or the one that is not NaN,   dz = dx or dy, of the selected one.   Domain:
//! everything. At a tie each side gets half: the subgradient of least norm.

use crate::prelude::*;

/// The methods of `fmax`.
#[ext(FmaxMethods)]
impl Tensor {
    /// The larger of two elements; if one is NaN, the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, f64::NAN]).fmax(&Tensor::from([2.0, 3.0])), Tensor::from([2.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn fmax(&self, other: impl Operand) -> Tensor {
        binary(&FMAX, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

elementwise! {
    FMAX = "fmax",
    value: |x, y| if (x >= y) | y.is_nan() { x } else { y },
    slopes: [
        slope!(|x: operand 0, y: operand 1| share_of_numbers(x, y)),
        slope!(|x: operand 0, y: operand 1| share_of_numbers(y, x))
    ],
    rule: "dz to the one chosen, half to each at a tie",
    reference: |x, y| 0.5 * (x + y + (x - y).abs()),
    domain: Points(|u, v| (u, u + 0.5 * v + 0.3f64.copysign(v))),
    edges: &[(1.0, 1.0, 1.0), (f64::NAN, 1.0, 1.0), (1.0, f64::NAN, 1.0)],
    jet: Slope,
}
