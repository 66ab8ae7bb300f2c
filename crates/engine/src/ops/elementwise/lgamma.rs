//! lgamma - logarithm of the gamma function.   y = ln |Gamma(x)|,   dy = digamma(x) dx.   Domain: all reals;
//! infinite at 0 and the negative whole numbers.

use crate::ops::prelude::*;

impl Tensor {
    /// The logarithm of the magnitude of the gamma function of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0]).lgamma(), Tensor::from([0.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn lgamma(&self) -> Tensor {
        bind1(&LGAMMA, Attrs::new(), &[self])
    }
}

elementwise! {
    LGAMMA = "lgamma",
    value: |x| lgamma(x),
    slopes: [slope!(|x: operand 0| digamma(x), slices: digamma_slice(x))],
    rule: "dx = digamma(x) dy",
    reference: |x| crate::rules::reference::log_gamma(x),
    domain: Positive,
    edges: &[(1.0, 0.0), (2.0, 0.0), (0.0, f64::INFINITY)],
    jet: Slope,
}
