//! i1e - modified Bessel function of order 1, scaled.   y = exp(-|x|) I1(x),   dy = (i0e(x) - y (sign(x) + 1/x))
//! dx.   Domain: all reals; the slope at 0 is 1/2.

use crate::prelude::*;
use wengert_kernels::math::{Real, i0e};

/// The methods of `i1e`.
#[ext(I1eMethods)]
impl Tensor {
    /// The modified Bessel function of order 1 of every element, times e to the power of minus its magnitude.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).i1e().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn i1e(&self) -> Tensor {
        bind1(&I1E, Attrs::new(), &[self])
    }
}

fn slope<T: Real>(x: T, y: T) -> T {
    if x == T::of(0.0) { T::of(0.5) } else { i0e(x) - y * (T::of(1.0).copysign(x) + T::of(1.0) / x) }
}

elementwise! {
    I1E = "i1e",
    value: |x| i1e(x),
    slopes: [slope!(|x: operand 0, y: output 0| slope(x, y), tensor: x.equal(0.0).where_(0.5, x.i0e() - y * (x.sign() + 1.0 / x)))],
    rule: "dx = (i0e(x) - y (sign(x) + 1/x)) dy",
    reference: |x| (-x.abs()).exp() * crate::rules::reference::bessel_i(1, x),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 0.0)],
    jet: Slope,
}
