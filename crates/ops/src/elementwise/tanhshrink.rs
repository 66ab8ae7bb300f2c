//! tanhshrink - what the hyperbolic tangent takes away.   y = x - tanh x,   dy = tanh(x)^2 dx.   Domain: all reals.
//! Small numbers go by a fraction of two polynomials, so that nothing cancels.

use crate::prelude::*;
use wengert_kernels::math::{Real, tanh};

/// The methods of `tanhshrink`.
#[ext(TanhshrinkMethods)]
impl Tensor {
    /// Every element less its hyperbolic tangent.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([0.0, 1e-4]).tanhshrink();
    /// assert!((x.slice(1).item() / (1e-12 / 3.0) - 1.0).abs() < 1e-8);
    /// ```
    #[track_caller]
    pub fn tanhshrink(&self) -> Tensor {
        bind1(&TANHSHRINK, Attrs::new(), &[self])
    }
}

/// tanh x = x / (1 + c) with the continued fraction c = x^2 / (3 + x^2 / (5 + ..)), so x - tanh x = x c / (1 + c). Cut at 23,
/// c / (1 + c) is x^2 ABOVE(x^2) / BELOW(x^2), within 2e-20 of it up to 1.6; coefficients from the constant on.
const ABOVE: [f64; 6] = [
    0.333_333_333_333_333_3,
    0.026_086_956_521_739_13,
    0.000_552_104_899_930_986_9,
    4.035_854_531_659_261e-6,
    9.249_475_626_415_419e-9,
    3.162_213_889_372_792_6e-12,
];
const BELOW: [f64; 7] = [
    1.0,
    0.478_260_869_565_217_4,
    0.031_055_900_621_118_012,
    0.000_610_221_205_186_880_3,
    4.273_257_739_403_923e-6,
    9.496_128_309_786_497e-9,
    3.162_213_889_372_792_6e-12,
];

#[inline(always)]
fn polynomial<T: Real>(coefficients: &[f64], x: T) -> T {
    coefficients.iter().rev().fold(T::of(0.0), |sum, &c| sum * x + T::of(c))
}

#[inline(always)]
fn shrink<T: Real>(x: T) -> T {
    let near = x.abs() < T::of(1.6);
    let z = if near { x * x } else { T::of(0.0) };
    let small = x * z * (polynomial(&ABOVE, z) / polynomial(&BELOW, z));
    if near { small } else { x - tanh(x) }
}

elementwise! {
    TANHSHRINK = "tanhshrink",
    value: |x| shrink(x),
    slopes: [slope!(|x: operand 0| square(tanh(x)))],
    rule: "dx = tanh(x)^2 dy",
    reference: |x| x - x.sinh() / x.cosh(),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-100.0, -99.0)],
    jet: Slope,
}
