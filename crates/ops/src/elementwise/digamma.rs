//! digamma - derivative of the logarithm of the gamma function.   y = Gamma'(x) / Gamma(x),   dy = polygamma(1, x)
//! dx.   Domain: all reals; -infinity at 0, NaN at the negative whole numbers.

use crate::prelude::*;

/// The methods of `digamma`.
#[ext(DigammaMethods)]
impl Tensor {
    /// The derivative of `lgamma` at every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let euler = 0.5772156649015329;
    /// assert!((Tensor::from(1.0).digamma().item() + euler).abs() < 1e-15);
    /// ```
    #[track_caller]
    pub fn digamma(&self) -> Tensor {
        bind1(&DIGAMMA, Attrs::new(), &[self])
    }
}

elementwise! {
    DIGAMMA = "digamma",
    value: |x| digamma(x),
    slices: digamma_slice(x),
    slopes: [slope!(|x: operand 0| polygamma(1.0, x), slices: trigamma_slice(x))],
    rule: "dx = polygamma(1, x) dy",
    reference: |x| crate::rules::reference::poly_gamma(0, x),
    domain: Positive,
    jet: Slope,
}
