//! i0e - modified Bessel function of order 0, scaled.   y = exp(-|x|) I0(x),   dy = (i1e(x) - sign(x) y) dx.
//! Domain: all reals; at the kink the slope is 0.

use crate::prelude::*;

/// The methods of `i0e`.
#[ext(I0eMethods)]
impl Tensor {
    /// The modified Bessel function of order 0 of every element, times e to the power of minus its magnitude.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).i0e().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn i0e(&self) -> Tensor {
        bind1(&I0E, Attrs::new(), &[self])
    }
}

elementwise! {
    I0E = "i0e",
    value: |x| i0e(x),
    slopes: [slope!(|x: operand 0, y: output 0| i1e(x) - sign(x) * y)],
    rule: "dx = (i1e(x) - sign(x) y) dy",
    reference: |x| (-x.abs()).exp() * crate::rules::reference::bessel_i(0, x),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 1.0)],
    jet: Slope,
}
