//! hardsigmoid - sigmoid made of straight lines.   y = min(max(x + 3, 0), 6) / 6,   dy = dx / 6 between -3 and 3,
//! else 0.   Domain: all reals. At the kinks the subgradient of least norm: 0.

use crate::prelude::*;

/// The methods of `hardsigmoid`.
#[ext(HardsigmoidMethods)]
impl Tensor {
    /// A ramp from 0 at -3 to 1 at 3.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-4.0, 0.0, 4.0]).hardsigmoid(), Tensor::from([0.0, 0.5, 1.0]));
    /// ```
    #[track_caller]
    pub fn hardsigmoid(&self) -> Tensor {
        bind1(&HARDSIGMOID, Attrs::new(), &[self])
    }
}

elementwise! {
    HARDSIGMOID = "hardsigmoid",
    value: |x| if x <= -3.0 { 0.0 } else if x >= 3.0 { 1.0 } else { (x + 3.0) / 6.0 },
    slopes: [slope!(|x: operand 0| between(x, -3.0, 3.0, constant(1.0 / 6.0), constant(0.0)))],
    rule: "dx = dy / 6 between -3 and 3",
    reference: |x| (x / 6.0 + 0.5).clamp(0.0, 1.0),
    domain: Points(|u, _| (away_from(&[-3.0, 3.0], 0.05, 2.0 * u), 0.0)),
    edges: &[(-3.0, 0.0), (3.0, 1.0)],
    jet: Slope,
}
