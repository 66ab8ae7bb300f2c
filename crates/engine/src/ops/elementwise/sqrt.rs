//! sqrt - square root.   y = sqrt x,   dy = dx / (2 y).   Domain: x >= 0, NaN outside; the slope at 0 is infinite.

use crate::ops::prelude::*;

impl Tensor {
    /// The square root of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([4.0, 9.0]).sqrt(), Tensor::from([2.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn sqrt(&self) -> Tensor {
        bind1(&SQRT, Attrs::new(), &[self])
    }
}

elementwise! {
    SQRT = "sqrt",
    value: |x| sqrt(x),
    slopes: [slope!(|y: output 0| 0.5 / y)],
    rule: "dx = dy / (2 y)",
    reference: |x| x.powf(0.5),
    domain: Positive,
    edges: &[(0.0, 0.0), (-1.0, f64::NAN), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
