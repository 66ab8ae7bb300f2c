//! hardswish - silu made of straight lines.   y = x min(max(x + 3, 0), 6) / 6,   dy = (x/3 + 1/2) dx between -3 and
//! 3, 0 below, dx above.   Domain: all reals. At the kinks the subgradient of least norm.

use crate::prelude::*;

/// The methods of `hardswish`.
#[ext(HardswishMethods)]
impl Tensor {
    /// Every element times a ramp from 0 at -3 to 1 at 3.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-4.0, 0.0, 4.0]).hardswish(), Tensor::from([0.0, 0.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn hardswish(&self) -> Tensor {
        bind1(&HARDSWISH, Attrs::new(), &[self])
    }
}

elementwise! {
    HARDSWISH = "hardswish",
    value: |x| if x <= -3.0 { 0.0 } else if x >= 3.0 { x } else { x * (x + 3.0) / 6.0 },
    slopes: [slope!(|x: operand 0| between(x, -3.0, 3.0, x / 3.0 + 0.5, above(x, 0.0, 1.0, 0.0)))],
    rule: "dx = (x/3 + 1/2) dy between -3 and 3, 0 below, dy above",
    reference: |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
    domain: Points(|u, _| (away_from(&[-3.0, 3.0], 0.05, 2.0 * u), 0.0)),
    edges: &[(-3.0, 0.0), (3.0, 3.0)],
    jet: Slope,
}
