//! log_ndtr - logarithm of the normal distribution function, accurate in both tails.   y = ln P(Z <= x),   dy =
//! sqrt(2/pi) / erfcx(-x / sqrt 2) dx.   Domain: all reals.

use crate::prelude::*;

/// The methods of `log_ndtr`.
#[ext(LogNdtrMethods)]
impl Tensor {
    /// The logarithm of the probability that a standard normal variable is at most the element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).log_ndtr().item(), -std::f64::consts::LN_2);
    /// ```
    #[track_caller]
    pub fn log_ndtr(&self) -> Tensor {
        bind1(&LOG_NDTR, Attrs::new(), &[self])
    }
}

/// sqrt(2 / pi)
const ROOT_OF_TWO_BY_PI: f64 = 0.797_884_560_802_865_4;

elementwise! {
    LOG_NDTR = "log_ndtr",
    value: |x| log_ndtr(x),
    slopes: [slope!(|x: operand 0| scale(1.0 / erfcx(scale(x, -std::f64::consts::FRAC_1_SQRT_2)), ROOT_OF_TWO_BY_PI))],
    rule: "dx = sqrt(2/pi) / erfcx(-x / sqrt 2) dy",
    reference: |x| crate::rules::reference::normal(x).ln(),
    domain: Reals,
    edges: &[(0.0, -std::f64::consts::LN_2)],
    jet: Slope,
}
