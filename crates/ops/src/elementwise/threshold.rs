//! threshold - x above a threshold, else a number.   y = x where x > threshold, else value,   dy = dx where x >
//! threshold, else 0.   Domain: all reals.

use crate::prelude::*;

/// The methods of `threshold`.
#[ext(ThresholdMethods)]
impl Tensor {
    /// Every element above the threshold, `value` elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0]).threshold(2.0, 0.5), Tensor::from([0.5, 3.0]));
    /// ```
    #[track_caller]
    pub fn threshold(&self, threshold: f64, value: f64) -> Tensor {
        bind1(&THRESHOLD, Attrs::new().with_real("threshold", threshold).with_real("value", value), &[self])
    }
}

elementwise! {
    THRESHOLD = "threshold",
    parameters: [threshold = 0.4, value = -0.7],
    value: |x| if x > threshold { x } else { value },
    slopes: [slope!(|x: operand 0; threshold, _value| above(x, threshold, 1.0, 0.0))],
    rule: "dx = dy where x > threshold",
    reference: |x| [value, x][usize::from(x > threshold)],
    domain: Points(|u, _| (away_from(&[0.4], 0.05, u), 0.0)),
    edges: &[(0.0, -0.7)],
    jet: Slope,
}
