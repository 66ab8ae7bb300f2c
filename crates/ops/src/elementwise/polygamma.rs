//! polygamma - derivatives of digamma.   y = digamma^(n)(x),   dy = polygamma(n + 1, x) dx.   Domain: all reals; infinite at 0 and the
//! negative integers.

use crate::prelude::*;

/// The methods of `polygamma`.
#[ext(PolygammaMethods)]
impl Tensor {
    /// The `n`-th derivative of `digamma` at every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let pi = std::f64::consts::PI;
    /// assert!((Tensor::from(1.0).polygamma(1).item() - pi * pi / 6.0).abs() < 1e-14);
    /// ```
    #[track_caller]
    pub fn polygamma(&self, n: u32) -> Tensor {
        bind1(&POLYGAMMA, Attrs::new().with_real("n", f64::from(n)), &[self])
    }
}

elementwise! {
    POLYGAMMA = "polygamma",
    parameters: [n = 1.0],
    also: [[0.0], [2.0]],
    value: |x| polygamma(n, x),
    slopes: [slope!(|x: operand 0; n| polygamma(n + 1.0, x))],
    rule: "dx = polygamma(n + 1, x) dy",
    reference: |x| crate::rules::reference::poly_gamma(n as i32, x),
    domain: Within(0.8, 2.5),
    jet: Slope,
}
