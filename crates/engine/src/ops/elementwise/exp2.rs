//! exp2 - power of two.   y = 2^x,   dy = y ln 2 dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// 2 to the power of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(10.0).exp2().item(), 1024.0);
    /// ```
    #[track_caller]
    pub fn exp2(&self) -> Tensor {
        bind1(&EXP2, Attrs::new(), &[self])
    }
}

elementwise! {
    EXP2 = "exp2",
    value: |x| exp2(x),
    slopes: [slope!(|y: output 0| scale(y, std::f64::consts::LN_2))],
    rule: "dx = y ln(2) dy",
    reference: |x| 2f64.powf(x),
    domain: Reals,
    edges: &[(3.0, 8.0), (f64::NEG_INFINITY, 0.0), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
