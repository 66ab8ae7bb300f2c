//! tan - tangent.   y = tan x,   dy = (1 + y^2) dx.   Domain: all reals; NaN at the infinities.

use crate::ops::prelude::*;

impl Tensor {
    /// The tangent of every element, in radians.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).tan().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn tan(&self) -> Tensor {
        bind1(&TAN, Attrs::new(), &[self])
    }
}

elementwise! {
    TAN = "tan",
    value: |x| tan(x),
    slices: tan_slice(x),
    slopes: [slope!(|y: output 0| 1.0 + y * y)],
    rule: "dx = (1 + y^2) dy",
    reference: |x| x.sin() / x.cos(),
    domain: Within(-1.0, 1.0),
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::NAN)],
    jet: Slope,
}
