//! gelu - Gaussian error linear unit.   y = x P(Z <= x) of a standard normal Z,   dy = (P(Z <= x) + x exp(-x^2 / 2)
//! / sqrt(2 pi)) dx.   Domain: all reals.

use crate::prelude::*;
use crate::rules::formula::native::normal_density;
use wengert_kernels::map::loop2_in_place;
use wengert_kernels::math::{Real, ndtr_slice};

/// The methods of `gelu`.
#[ext(GeluMethods)]
impl Tensor {
    /// Every element times the probability that a standard normal variable is at most it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).gelu().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn gelu(&self) -> Tensor {
        bind1(&GELU, Attrs::new(), &[self])
    }
}

fn gelu_slice<T: Real>(x: &[T], out: &mut [T]) {
    ndtr_slice(x, out);
    loop2_in_place(
        out,
        x,
        #[inline(always)]
        |p: T, x: T| x * p,
    );
}

fn slope_slice<T: Real>(x: &[T], out: &mut [T]) {
    ndtr_slice(x, out);
    loop2_in_place(
        out,
        x,
        #[inline(always)]
        |p: T, x: T| p + x * normal_density(x),
    );
}

elementwise! {
    GELU = "gelu",
    value: |x| x * ndtr(x),
    slices: gelu_slice(x),
    slopes: [slope!(|x: operand 0| ndtr(x) + x * normal_density(x), slices: slope_slice(x))],
    rule: "dx = (ndtr(x) + x exp(-x^2 / 2) / sqrt(2 pi)) dy",
    reference: |x| x * crate::rules::reference::normal(x),
    domain: Reals,
    edges: &[(0.0, 0.0), (f64::INFINITY, f64::INFINITY), (-64.0, 0.0)],
    jet: Slope,
}
