//! softplus - smooth rectifier.   y = ln(1 + e^(beta x)) / beta, and x where beta x > threshold,   dy =
//! sigmoid(beta x) dx, and dx there.   Domain: all reals; never overflows, so no threshold is needed.

use crate::prelude::*;

/// The methods of `softplus`.
#[ext(SoftplusMethods)]
impl Tensor {
    /// The logarithm of 1 plus the exponential of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 1e4]).softplus(), Tensor::from([std::f64::consts::LN_2, 1e4]));
    /// ```
    #[track_caller]
    pub fn softplus(&self) -> Tensor {
        self.softplus_with(1.0, f64::INFINITY)
    }

    /// [`softplus`](Tensor::softplus) of `beta x`, divided by `beta`; x itself where `beta x` is above the threshold.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.0, 3.0]).softplus_with(2.0, 5.0);
    /// assert_eq!(y, Tensor::from([0.5 * std::f64::consts::LN_2, 3.0]));
    /// ```
    #[track_caller]
    pub fn softplus_with(&self, beta: f64, threshold: f64) -> Tensor {
        let attrs = Attrs::new().with_real("beta", beta).with_real("threshold", threshold);
        bind1(&SOFTPLUS, attrs, &[self])
    }
}

elementwise! {
    SOFTPLUS = "softplus",
    parameters: [beta = 1.0, threshold = f64::INFINITY],
    also: [[2.0, 0.5]],
    value: |x| if beta * x > threshold { x } else { softplus(beta * x) / beta },
    slopes: [slope!(|x: operand 0; beta, threshold| above(beta * x, threshold, 1.0, sigmoid(beta * x)))],
    rule: "dx = sigmoid(beta x) dy, and dy where beta x > threshold",
    reference: |x| if beta * x > threshold { x } else { (1.0 + (beta * x).exp()).ln() / beta },
    domain: Points(|u, _| (away_from(&[0.25], 0.05, u), 0.0)),
    edges: &[(-1e4, 0.0), (1e4, 1e4), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
