//! ceil - smallest integer not below.   y = ceil x,   dy = 0.   Domain: all reals and integers, which stay unchanged.

use crate::prelude::*;

/// The methods of `ceil`.
#[ext(CeilMethods)]
impl Tensor {
    /// The smallest integer not below each element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.5).ceil().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn ceil(&self) -> Tensor {
        bind1(&CEIL, Attrs::new(), &[self])
    }
}

elementwise! {
    CEIL = "ceil",
    value: |x| ceil(x),
    integer: |x| x,
    slopes: [slope!(zero)],
    rule: "no gradient",
    reference: |x| x + (-x).rem_euclid(1.0),
    domain: Reals,
    edges: &[(0.5, 1.0), (2.0, 2.0), (f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
    jet: Constant,
}
