//! logit - inverse of sigmoid.   y = ln(x / (1 - x)),   dy = dx / (x (1 - x)).   Domain: 0 to 1, infinite at the
//! ends; value and gradient are NaN outside.

use crate::prelude::*;
use wengert_kernels::math::{Real, log, log1p};

/// The methods of `logit`.
#[ext(LogitMethods)]
impl Tensor {
    /// The logarithm of the odds of every element.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.5).logit().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn logit(&self) -> Tensor {
        bind1(&LOGIT, Attrs::new(), &[self])
    }

    /// The logarithm of the odds of every element, which is first kept between `eps` and `1 - eps`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).logit_with(0.25), Tensor::from(0.25).logit());
    /// ```
    #[track_caller]
    pub fn logit_with(&self, eps: f64) -> Tensor {
        self.clamp(eps, 1.0 - eps).logit()
    }
}

/// Near one half by twice the distance from it, which is exact, over the smaller of x and 1 - x, which is exact too.
#[inline(always)]
fn logit<T: Real>(x: T) -> T {
    let (zero, one, half) = (T::of(0.0), T::of(1.0), T::of(0.5));
    let (rest, low) = (one - x, x < half);
    let middle = (x > T::of(0.25)) & (x < T::of(0.75));
    let distance = if low { half - x } else { x - half };
    let near = if middle { (distance + distance) / if low { x } else { rest } } else { zero };
    let far = if middle { one } else { x / rest };
    let near = log1p(near);
    log(far) + if low { -near } else { near }
}

elementwise! {
    LOGIT = "logit",
    value: |x| logit(x),
    slopes: [slope!(|x: operand 0| 1.0 / (nan_below(x, 0.0) * nan_below(1.0 - x, 0.0)))],
    rule: "dx = dy / (x (1 - x))",
    reference: |x| x.ln() - (-x).ln_1p(),
    domain: Within(0.3, 0.7),
    edges: &[(0.5, 0.0), (0.0, f64::NEG_INFINITY), (1.0, f64::INFINITY), (-1.0, f64::NAN), (2.0, f64::NAN)],
    jet: Slope,
}
