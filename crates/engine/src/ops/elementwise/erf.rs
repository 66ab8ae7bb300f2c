//! erf - error function.   y = 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x,   dy = 2/sqrt(pi) exp(-x^2)
//! dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// The error function of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).erf().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn erf(&self) -> Tensor {
        bind1(&ERF, Attrs::new(), &[self])
    }
}

elementwise! {
    ERF = "erf",
    value: |x| erf(x),
    slices: erf_slice(x),
    slopes: [slope!(|x: operand 0| scale(exp(-(x * x)), std::f64::consts::FRAC_2_SQRT_PI))],
    rule: "dx = 2/sqrt(pi) exp(-x^2) dy",
    reference: |x| crate::rules::reference::erf(x),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, -1.0)],
    jet: Slope,
}
