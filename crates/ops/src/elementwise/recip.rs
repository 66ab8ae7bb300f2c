//! recip - reciprocal.   y = 1/x,   dy = -y^2 dx.   Domain: x != 0; 1/0 is infinite.

use crate::prelude::*;

/// The methods of `recip`.
#[ext(RecipMethods)]
impl Tensor {
    /// The reciprocal of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, 4.0]).recip(), Tensor::from([0.5, 0.25]));
    /// ```
    #[track_caller]
    pub fn recip(&self) -> Tensor {
        bind1(&RECIP, Attrs::new(), &[self])
    }
}

elementwise! {
    RECIP = "recip",
    value: |x| 1.0 / x,
    slopes: [slope!(|y: output 0| -(y * y))],
    rule: "dx = -y^2 dy",
    reference: |x| x.powi(-1),
    domain: Positive,
    edges: &[(0.0, f64::INFINITY), (f64::INFINITY, 0.0)],
    jet: Slope,
}
