//! logaddexp - logarithm of a sum of exponentials.   z = ln(e^x + e^y),   dz = sigmoid(x - y) dx + sigmoid(y - x)
//! dy.   Domain: all reals, without overflow; equal infinities share the gradient.

use crate::prelude::*;

/// The methods of `logaddexp`.
#[ext(LogaddexpMethods)]
impl Tensor {
    /// The logarithm of the sum of the exponentials of two elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(1e4).logaddexp(1e4).item(), 1e4 + std::f64::consts::LN_2);
    /// ```
    #[track_caller]
    pub fn logaddexp(&self, other: impl Operand) -> Tensor {
        binary(&LOGADDEXP, Attrs::new(), self, &other.tensor(self.dtype()))
    }

    /// The base-2 logarithm of the sum of 2 to the power of two elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(3.0).logaddexp2(3.0).item(), 4.0);
    /// ```
    #[track_caller]
    pub fn logaddexp2(&self, other: impl Operand) -> Tensor {
        let scale = std::f64::consts::LN_2;
        (self * scale).logaddexp(&*other.tensor(self.dtype()) * scale) / scale
    }
}

elementwise! {
    LOGADDEXP = "logaddexp",
    value: |x, y| logaddexp(x, y),
    slices: logaddexp_slice(x, y),
    slopes: [
        slope!(|x: operand 0, y: operand 1| sigmoid(gap(x, y))),
        slope!(|x: operand 0, y: operand 1| sigmoid(gap(y, x)))
    ],
    rule: "dx = sigmoid(x - y) dz, dy = sigmoid(y - x) dz",
    reference: |x, y| (x.exp() + y.exp()).ln(),
    domain: Reals,
    edges: &[(f64::NEG_INFINITY, 3.0, 3.0), (f64::INFINITY, f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY)],
    jet: Slope,
}
