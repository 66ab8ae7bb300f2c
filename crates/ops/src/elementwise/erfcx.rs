//! erfcx - scaled complement of the error function.   y = exp(x^2) erfc x,   dy = (2 x y - 2/sqrt(pi)) dx.
//! Domain: all reals; overflows below about -26.

use crate::prelude::*;

/// The methods of `erfcx`.
#[ext(ErfcxMethods)]
impl Tensor {
    /// The complement of the error function of every element, times e to the power of its square.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).erfcx().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn erfcx(&self) -> Tensor {
        bind1(&ERFCX, Attrs::new(), &[self])
    }
}

elementwise! {
    ERFCX = "erfcx",
    value: |x| erfcx(x),
    slopes: [slope!(|x: operand 0, y: output 0| shift(2.0 * x * y, -FRAC_2_SQRT_PI))],
    rule: "dx = (2 x y - 2/sqrt(pi)) dy",
    reference: |x| (x * x).exp() * (1.0 - crate::rules::reference::erf(x)),
    domain: Within(-1.0, 1.0),
    edges: &[(0.0, 1.0)],
    jet: Slope,
}
