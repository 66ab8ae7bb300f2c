//! round - nearest integer, ties to even.   y = round x,   dy = 0.   Domain: all reals and integers, which stay unchanged.

use crate::ground::prelude::*;

impl Tensor {
    /// The integer nearest to each element; ties go to the even one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(2.5).round().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn round(&self) -> Tensor {
        bind1(&ROUND, Attrs::new(), &[self])
    }

    /// Rounds each element to this many digits after the decimal point; a negative count rounds before it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.255, 1234.0]).round_to(-2), Tensor::from([0.0, 1200.0]));
    /// ```
    #[track_caller]
    pub fn round_to(&self, decimals: i32) -> Tensor {
        let power = 10f64.powi(decimals.abs());
        if decimals < 0 { (self / power).round() * power } else { (self * power).round() / power }
    }
}

elementwise! {
    ROUND = "round",
    value: |x| round(x),
    integer: |x| x,
    slopes: [slope!(zero)],
    rule: "no gradient",
    reference: |x| if (x + 0.5).fract() == 0.0 { 2.0 * (0.5 * x).round() } else { (x + 0.5).floor() },
    domain: Reals,
    edges: &[(0.5, 0.0), (1.5, 2.0), (-2.5, -2.0), (f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)],
    jet: Constant,
}
