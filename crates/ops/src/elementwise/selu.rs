//! selu - self-normalising exponential linear unit.   y = s x where x > 0, else s a (e^x - 1),   dy = s dx where
//! x > 0, else s a e^x dx.   s = 1.0507.., a = 1.6733.. (Klambauer and others, 2017). Domain: all reals. At the kink
//! the subgradient of least norm: s.

use crate::prelude::*;

/// The methods of `selu`.
#[ext(SeluMethods)]
impl Tensor {
    /// Every element scaled, bent below 0, so that layers keep mean 0 and variance 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).selu().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn selu(&self) -> Tensor {
        bind1(&SELU, Attrs::new(), &[self])
    }
}

const SCALE: f64 = 1.050_700_987_355_480_5;
/// The scale times alpha, 1.6732632423543772.
const SCALED_ALPHA: f64 = SCALE * 1.673_263_242_354_377_2;

elementwise! {
    SELU = "selu",
    value: |x| if x > 0.0 { scale(x, SCALE) } else { scale(expm1(x), SCALED_ALPHA) },
    slopes: [slope!(|x: operand 0| above(x, 0.0, constant(SCALE), at_zero(x, constant(SCALE), scale(exp(x), SCALED_ALPHA))))],
    rule: "dx = s dy where x > 0, else s a exp(x) dy",
    reference: |x| 1.0507009873554805 * (x.max(0.0) + 1.6732632423543772 * (x.min(0.0).exp() - 1.0)),
    domain: Points(|u, _| (away_from(&[0.0], 0.05, u), 0.0)),
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY)],
    jet: Slope,
}
