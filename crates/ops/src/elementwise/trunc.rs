//! trunc - integer part.   y = trunc x,   dy = 0.   Domain: all reals and integers, which stay unchanged.

use crate::prelude::*;

/// The methods of `trunc`.
#[ext(TruncMethods)]
impl Tensor {
    /// The integer part of each element, rounded toward zero.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(-1.5).trunc().item(), -1.0);
    /// ```
    #[track_caller]
    pub fn trunc(&self) -> Tensor {
        bind1(&TRUNC, Attrs::new(), &[self])
    }
}

elementwise! {
    TRUNC = "trunc",
    value: |x| trunc(x),
    integer: |x| x,
    slopes: [slope!(zero)],
    rule: "no gradient",
    reference: |x| x - x % 1.0,
    domain: Reals,
    edges: &[(-1.5, -1.0), (2.5, 2.0), (f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
    jet: Constant,
}
