//! erfc - complement of the error function, accurate where it is small.   y = 1 - erf x,   dy = -2/sqrt(pi)
//! exp(-x^2) dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// One minus the error function of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).erfc().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn erfc(&self) -> Tensor {
        bind1(&ERFC, Attrs::new(), &[self])
    }
}

elementwise! {
    ERFC = "erfc",
    value: |x| erfc(x),
    slices: erfc_slice(x),
    slopes: [slope!(|x: operand 0| scale(exp(-(x * x)), -std::f64::consts::FRAC_2_SQRT_PI))],
    rule: "dx = -2/sqrt(pi) exp(-x^2) dy",
    reference: |x| 1.0 - crate::rules::reference::erf(x),
    domain: Reals,
    edges: &[(0.0, 1.0), (f64::INFINITY, 0.0), (f64::NEG_INFINITY, 2.0)],
    jet: Slope,
}
