//! mish - self-regularised rectifier.   y = x tanh(softplus(x)),   dy = (t + x (1 - t^2) sigmoid(x)) dx with t =
//! tanh(softplus(x)).   Domain: all reals.

use crate::prelude::*;
use wengert_kernels::math::{Real, exp};

/// The methods of `mish`.
#[ext(MishMethods)]
impl Tensor {
    /// Every element times the hyperbolic tangent of its softplus.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 100.0]).mish(), Tensor::from([0.0, 100.0]));
    /// ```
    #[track_caller]
    pub fn mish(&self) -> Tensor {
        bind1(&MISH, Attrs::new(), &[self])
    }
}

/// (e, n) with e = e^x and tanh(softplus(x)) = n / (n + 2): ((1 + e)^2 - 1) / ((1 + e)^2 + 1). Beyond 20 the quotient is 1.
#[inline(always)]
fn parts<T: Real>(x: T) -> (T, T) {
    let e = exp(at_most_20(x));
    (e, e * (e + T::of(2.0)))
}

#[inline(always)]
fn at_most_20<T: Real>(x: T) -> T {
    if x > T::of(20.0) { T::of(20.0) } else { x }
}

#[inline(always)]
fn mish<T: Real>(x: T) -> T {
    let (_, n) = parts(x);
    x * (n / (n + T::of(2.0)))
}

#[inline(always)]
fn slope<T: Real>(x: T) -> T {
    let (e, n) = parts(x);
    let d = T::of(1.0) / (n + T::of(2.0));
    // Beyond 20 the second term vanishes, which the bound keeps so for any x.
    d * (n + T::of(4.0) * at_most_20(x) * e * (T::of(1.0) + e) * d)
}

fn slope_tensor(x: &Tensor) -> Tensor {
    let t = x.softplus().tanh();
    &t + x * (1.0 - t.square()) * x.sigmoid()
}

elementwise! {
    MISH = "mish",
    value: |x| mish(x),
    slopes: [slope!(|x: operand 0| slope(x), tensor: slope_tensor(x))],
    rule: "dx = (t + x (1 - t^2) sigmoid(x)) dy",
    reference: |x| x * (1.0 + x.exp()).ln().tanh(),
    domain: Reals,
    edges: &[(0.0, 0.0), (64.0, 64.0), (-200.0, 0.0)],
    jet: Slope,
}
