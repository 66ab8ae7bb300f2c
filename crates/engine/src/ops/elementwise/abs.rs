//! abs - absolute value.   y = |x|,   dy = sign(x) dx.   Domain: all reals and whole numbers. At the kink the subgradient of
//! least norm: abs'(0) = 0.

use crate::ops::prelude::*;

impl Tensor {
    /// The absolute value of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-3.0, 2.0]).abs(), Tensor::from([3.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn abs(&self) -> Tensor {
        bind1(&ABS, Attrs::new(), &[self])
    }
}

elementwise! {
    ABS = "abs",
    value: |x| x.abs(),
    integer: |x| x.wrapping_abs(),
    slopes: [slope!(|x: operand 0| sign(x))],
    rule: "dx = sign(x) dy",
    reference: |x| (x * x).sqrt(),
    domain: Reals,
    edges: &[(0.0, 0.0), (-0.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
    jet: Slope,
}
