//! ndtr - normal distribution function.   y = P(Z <= x) of a standard normal Z,   dy = exp(-x^2 / 2) / sqrt(2 pi)
//! dx.   Domain: all reals.

use crate::prelude::*;

/// The methods of `ndtr`.
#[ext(NdtrMethods)]
impl Tensor {
    /// The probability that a standard normal variable is at most the element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).ndtr().item(), 0.5);
    /// ```
    #[track_caller]
    pub fn ndtr(&self) -> Tensor {
        bind1(&NDTR, Attrs::new(), &[self])
    }
}

elementwise! {
    NDTR = "ndtr",
    value: |x| ndtr(x),
    slices: ndtr_slice(x),
    slopes: [slope!(|x: operand 0| normal_density(x))],
    rule: "dx = exp(-x^2 / 2) / sqrt(2 pi) dy",
    reference: |x| crate::rules::reference::normal(x),
    domain: Reals,
    edges: &[(0.0, 0.5), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0)],
    jet: Slope,
}
