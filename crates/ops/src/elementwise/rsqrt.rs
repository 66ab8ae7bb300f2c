//! rsqrt - reciprocal square root.   y = 1 / sqrt x,   dy = -y^3 dx / 2.   Domain: x > 0, NaN below 0; infinite at
//! 0.

use crate::prelude::*;

/// The methods of `rsqrt`.
#[ext(RsqrtMethods)]
impl Tensor {
    /// One over the square root of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(4.0).rsqrt().item(), 0.5);
    /// ```
    #[track_caller]
    pub fn rsqrt(&self) -> Tensor {
        bind1(&RSQRT, Attrs::new(), &[self])
    }
}

elementwise! {
    RSQRT = "rsqrt",
    value: |x| rsqrt(x),
    slopes: [slope!(|y: output 0| -0.5 * y * y * y)],
    rule: "dx = -y^3 dy / 2",
    reference: |x| x.powf(-0.5),
    domain: Positive,
    edges: &[(0.25, 2.0), (0.0, f64::INFINITY), (-1.0, f64::NAN)],
    jet: Slope,
}
