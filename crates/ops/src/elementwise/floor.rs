//! floor - largest integer not above.   y = floor x,   dy = 0.   Domain: all reals and integers, which stay unchanged.

use crate::prelude::*;

/// The methods of `floor`.
#[ext(FloorMethods)]
impl Tensor {
    /// The largest integer not above each element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(-0.5).floor().item(), -1.0);
    /// ```
    #[track_caller]
    pub fn floor(&self) -> Tensor {
        bind1(&FLOOR, Attrs::new(), &[self])
    }
}

elementwise! {
    FLOOR = "floor",
    value: |x| floor(x),
    integer: |x| x,
    slopes: [slope!(zero)],
    rule: "no gradient",
    reference: |x| x - x.rem_euclid(1.0),
    domain: Reals,
    edges: &[(-0.5, -1.0), (2.0, 2.0), (f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
    jet: Constant,
}
