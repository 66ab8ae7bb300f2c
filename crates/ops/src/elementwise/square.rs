//! square - x times itself.   y = x^2,   dy = 2 x dx.   Domain: all reals and whole numbers (wrapping).

use crate::prelude::*;

/// The methods of `square`.
#[ext(SquareMethods)]
impl Tensor {
    /// Every element times itself.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, -3.0]).square(), Tensor::from([4.0, 9.0]));
    /// ```
    #[track_caller]
    pub fn square(&self) -> Tensor {
        bind1(&SQUARE, Attrs::new(), &[self])
    }
}

elementwise! {
    SQUARE = "square",
    value: |x| x * x,
    integer: |x| x.wrapping_mul(x),
    slopes: [slope!(|x: operand 0| 2.0 * x)],
    rule: "dx = 2 x dy",
    reference: |x| x.abs().powf(2.0),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::NEG_INFINITY, f64::INFINITY)],
    jet: Slope,
}
