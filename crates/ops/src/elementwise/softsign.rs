//! softsign - sign with a soft step.   y = x / (1 + |x|),   dy = dx / (1 + |x|)^2.   Domain: all reals.

use crate::prelude::*;

/// The methods of `softsign`.
#[ext(SoftsignMethods)]
impl Tensor {
    /// Every element divided by 1 plus its magnitude.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-1.0, 3.0]).softsign(), Tensor::from([-0.5, 0.75]));
    /// ```
    #[track_caller]
    pub fn softsign(&self) -> Tensor {
        bind1(&SOFTSIGN, Attrs::new(), &[self])
    }
}

elementwise! {
    SOFTSIGN = "softsign",
    value: |x| x / (1.0 + abs(x)),
    slopes: [slope!(|x: operand 0| 1.0 / square(1.0 + abs(x)))],
    rule: "dx = dy / (1 + |x|)^2",
    reference: |x| x.signum() * (1.0 - 1.0 / (1.0 + x.abs())),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 0.0), (1.0, 0.5)],
    jet: Slope,
}
