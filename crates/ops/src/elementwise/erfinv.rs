//! erfinv - inverse of the error function.   erf y = x,   dy = sqrt(pi)/2 exp(y^2) dx.   Domain: -1 to 1, infinite
//! at the ends; NaN outside.

use crate::prelude::*;

/// The methods of `erfinv`.
#[ext(ErfinvMethods)]
impl Tensor {
    /// The number whose error function is the element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).erfinv().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn erfinv(&self) -> Tensor {
        bind1(&ERFINV, Attrs::new(), &[self])
    }
}

/// sqrt(pi) / 2
const HALF_ROOT_OF_PI: f64 = 0.886_226_925_452_758;

elementwise! {
    ERFINV = "erfinv",
    value: |x| erfinv(x),
    slopes: [slope!(|y: output 0| scale(exp(y * y), HALF_ROOT_OF_PI))],
    rule: "dx = sqrt(pi)/2 exp(y^2) dy",
    reference: |x| crate::rules::reference::inverse(crate::rules::reference::erf, x, -3.0, 3.0),
    domain: Within(-0.7, 0.7),
    edges: &[(0.0, 0.0), (1.0, f64::INFINITY), (-1.0, f64::NEG_INFINITY), (1.5, f64::NAN)],
    jet: Slope,
}
