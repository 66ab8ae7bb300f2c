//! silu - sigmoid linear unit.   y = x sigmoid(x),   dy = s (1 + x (1 - s)) dx with s = sigmoid(x).   Domain: all
//! reals.

use crate::prelude::*;
use wengert_kernels::math::{Real, sigmoid};

/// The methods of `silu`.
#[ext(SiluMethods)]
impl Tensor {
    /// Every element times its sigmoid.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).silu().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn silu(&self) -> Tensor {
        bind1(&SILU, Attrs::new(), &[self])
    }
}

#[inline(always)]
fn slope<T: Real>(x: T) -> T {
    let (one, s) = (T::of(1.0), sigmoid(x));
    s * (one + x * (one - s))
}

fn slope_tensor(x: &Tensor) -> Tensor {
    let s = x.sigmoid();
    &s * (x * (1.0 - &s) + 1.0)
}

elementwise! {
    SILU = "silu",
    value: |x| x * sigmoid(x),
    slopes: [slope!(|x: operand 0| slope(x), tensor: slope_tensor(x))],
    rule: "dx = s (1 + x (1 - s)) dy",
    reference: |x| x / (1.0 + (-x).exp()),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-200.0, 0.0)],
    jet: Slope,
}
