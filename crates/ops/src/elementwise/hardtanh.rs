//! hardtanh - identity between two bounds.   y = low where x <= low, high where x >= high, else x,   dy = dx between
//! the bounds, else 0.   Domain: all reals. At the bounds the subgradient of least norm: 0 (unlike clamp).

use crate::prelude::*;

/// The methods of `hardtanh`.
#[ext(HardtanhMethods)]
impl Tensor {
    /// Clamps every element between the bounds; the gradient at a bound is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-3.0, 0.5, 3.0]).hardtanh(-1.0, 1.0), Tensor::from([-1.0, 0.5, 1.0]));
    /// ```
    #[track_caller]
    pub fn hardtanh(&self, low: f64, high: f64) -> Tensor {
        bind1(&HARDTANH, Attrs::new().with_real("low", low).with_real("high", high), &[self])
    }

    /// Clamps every element between 0 and 6.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-1.0, 2.0, 9.0]).relu6(), Tensor::from([0.0, 2.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn relu6(&self) -> Tensor {
        self.hardtanh(0.0, 6.0)
    }
}

elementwise! {
    HARDTANH = "hardtanh",
    parameters: [low = -0.8, high = 1.1],
    value: |x| if x <= low { low } else if x >= high { high } else { x },
    slopes: [slope!(|x: operand 0; low, high| between(x, low, high, 1.0, 0.0))],
    rule: "dx = dy where low < x < high",
    reference: |x| x.max(low).min(high),
    domain: Points(|u, _| (away_from(&[-0.8, 1.1], 0.05, u), 0.0)),
    edges: &[(-1.0, -0.8), (2.0, 1.1), (f64::NAN, f64::NAN)],
    jet: Slope,
}
