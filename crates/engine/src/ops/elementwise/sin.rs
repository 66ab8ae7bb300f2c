//! sin - sine.   y = sin x,   dy = cos x dx.   Domain: all reals; NaN at the infinities.

use crate::ops::prelude::*;

impl Tensor {
    /// The sine of every element, in radians.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).sin().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn sin(&self) -> Tensor {
        bind1(&SIN, Attrs::new(), &[self])
    }
}

elementwise! {
    SIN = "sin",
    value: |x| sin(x),
    slices: sin_slice(x),
    slopes: [slope!(|x: operand 0| cos(x), slices: cos_slice(x))],
    rule: "dx = cos(x) dy",
    reference: |x| (std::f64::consts::FRAC_PI_2 - x).cos(),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::NAN)],
    jet: Slope,
}
