//! gelu - Gaussian error linear unit.   y = x P(Z <= x) of a standard normal Z,   dy = (P(Z <= x) + x exp(-x^2 / 2)
//! / sqrt(2 pi)) dx.   Domain: all reals.

use crate::ops::prelude::*;

impl Tensor {
    /// Every element times the probability that a standard normal variable is at most it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).gelu().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn gelu(&self) -> Tensor {
        bind1(&GELU, Attrs::new(), &[self])
    }
}

elementwise! {
    GELU = "gelu",
    value: |x| x * ndtr(x),
    slopes: [slope!(|x: operand 0| ndtr(x) + x * normal_density(x))],
    rule: "dx = (ndtr(x) + x exp(-x^2 / 2) / sqrt(2 pi)) dy",
    reference: |x| x * crate::rules::reference::normal(x),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-64.0, 0.0)],
    jet: Slope,
}
