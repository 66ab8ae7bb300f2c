//! ndtri - inverse of the normal distribution function.   P(Z <= y) = x,   dy = sqrt(2 pi) exp(y^2 / 2) dx.
//! Domain: 0 to 1, infinite at the ends; NaN outside.

use crate::prelude::*;

/// The methods of `ndtri`.
#[ext(NdtriMethods)]
impl Tensor {
    /// The number that a standard normal variable stays below with the probability of the element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.5).ndtri().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn ndtri(&self) -> Tensor {
        bind1(&NDTRI, Attrs::new(), &[self])
    }
}

/// sqrt(2 pi)
const ROOT_OF_TWO_PI: f64 = 2.506_628_274_631_000_5;

elementwise! {
    NDTRI = "ndtri",
    value: |x| ndtri(x),
    slopes: [slope!(|y: output 0| scale(exp(0.5 * y * y), ROOT_OF_TWO_PI))],
    rule: "dx = sqrt(2 pi) exp(y^2 / 2) dy",
    reference: |x| crate::rules::reference::inverse(crate::rules::reference::normal, x, -3.0, 3.0),
    domain: Within(0.3, 0.7),
    edges: &[(0.5, 0.0), (1.0, f64::INFINITY), (0.0, f64::NEG_INFINITY), (1.5, f64::NAN)],
    jet: Slope,
}
