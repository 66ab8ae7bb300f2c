//! neg - negation.   y = -x,   dy = -dx.   Domain: all reals and integers.

use crate::ground::prelude::*;

impl Tensor {
    /// The negative of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, -2.0]).neg(), Tensor::from([-1.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn neg(&self) -> Tensor {
        bind1(&NEG, Attrs::new(), &[self])
    }
}

elementwise! {
    NEG = "neg",
    value: |x| -x,
    integer: |x| x.wrapping_neg(),
    slopes: [slope!(minus_one)],
    rule: "dx = -dy",
    reference: |x| 0.0 - x,
    domain: Reals,
    jet: Linear,
}
