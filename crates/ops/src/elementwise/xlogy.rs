//! xlogy - x times a logarithm.   z = x ln y, and 0 where x is 0,   dz = ln(y) dx + x/y dy.   Domain: y > 0, or x =
//! 0; value and gradient are NaN for y < 0.

use crate::prelude::*;
use wengert_kernels::math::{Real, log};

/// The methods of `xlogy`.
#[ext(XlogyMethods)]
impl Tensor {
    /// Every element times the logarithm of the other's; 0 where the element is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0]).xlogy(&Tensor::from([0.0, 1.0])), Tensor::from([0.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn xlogy(&self, other: impl Operand) -> Tensor {
        binary(&XLOGY, Attrs::new(), self, &other.tensor(self.dtype()))
    }
}

/// 0 where x is 0 and y has no logarithm.
#[inline(always)]
fn log_weight<T: Real>(x: T, y: T) -> T {
    let zero = T::of(0.0);
    if (x == zero) & (y <= zero) { zero } else { log(y) }
}

fn log_weight_tensor(x: &Tensor, y: &Tensor) -> Tensor {
    x.equal(0.0).logical_and(&y.le(0.0)).where_(0.0, y.log())
}

elementwise! {
    XLOGY = "xlogy",
    value: |x, y| xlogy(x, y),
    slices: xlogy_slice(x, y),
    slopes: [
        slope!(|x: operand 0, y: operand 1| log_weight(x, y), tensor: log_weight_tensor(x, y)),
        slope!(|x: operand 0, y: operand 1| ratio(x, nan_below(y, 0.0)))
    ],
    rule: "dx = log(y) dz, dy = x/y dz",
    reference: |x, y| x * y.ln(),
    domain: Positive,
    edges: &[(0.0, 0.0, 0.0), (1.0, -1.0, f64::NAN), (0.0, f64::NAN, f64::NAN)],
    jet: Slope,
}
