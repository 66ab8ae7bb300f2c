//! i1 - modified Bessel function of order 1.   y = I1(x),   dy = (I0(x) - y/x) dx.   Domain: all reals; the slope
//! at 0 is 1/2.

use crate::prelude::*;
use wengert_kernels::math::{Real, i0};

/// The methods of `i1`.
#[ext(I1Methods)]
impl Tensor {
    /// The modified Bessel function of order 1 of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).i1().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn i1(&self) -> Tensor {
        bind1(&I1, Attrs::new(), &[self])
    }
}

fn slope<T: Real>(x: T, y: T) -> T {
    if x == T::of(0.0) { T::of(0.5) } else { i0(x) - y / x }
}

elementwise! {
    I1 = "i1",
    value: |x| i1(x),
    slopes: [slope!(|x: operand 0, y: output 0| slope(x, y), tensor: x.equal(0.0).where_(0.5, x.i0() - y / x))],
    rule: "dx = (i0(x) - y/x) dy",
    reference: |x| crate::rules::reference::bessel_i(1, x),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 0.0)],
    jet: Slope,
}
