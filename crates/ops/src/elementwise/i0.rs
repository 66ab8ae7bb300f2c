//! i0 - modified Bessel function of order 0.   y = I0(x),   dy = I1(x) dx.   Domain: all reals.

use crate::prelude::*;

/// The methods of `i0`.
#[ext(I0Methods)]
impl Tensor {
    /// The modified Bessel function of order 0 of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).i0().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn i0(&self) -> Tensor {
        bind1(&I0, Attrs::new(), &[self])
    }
}

elementwise! {
    I0 = "i0",
    value: |x| i0(x),
    slopes: [slope!(|x: operand 0| i1(x))],
    rule: "dx = i1(x) dy",
    reference: |x| crate::rules::reference::bessel_i(0, x),
    domain: Reals,
    edges: &[(0.0, 1.0)],
    jet: Slope,
}
