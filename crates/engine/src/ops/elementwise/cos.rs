//! cos - cosine.   y = cos x,   dy = -sin x dx.   Domain: all reals; NaN at the infinities.

use crate::ops::prelude::*;
use wengert_kernels::map::loop1_in_place;
use wengert_kernels::math::{Real, sin_slice};

impl Tensor {
    /// The cosine of every element, in radians.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from(0.0).cos().item(), 1.0);
    /// ```
    #[track_caller]
    pub fn cos(&self) -> Tensor {
        bind1(&COS, Attrs::new(), &[self])
    }
}

fn minus_sin_slice<T: Real>(x: &[T], out: &mut [T]) {
    sin_slice(x, out);
    loop1_in_place(out, |sine| -sine);
}

elementwise! {
    COS = "cos",
    value: |x| cos(x),
    slices: cos_slice(x),
    slopes: [slope!(|x: operand 0| -sin(x), slices: minus_sin_slice(x))],
    rule: "dx = -sin(x) dy",
    reference: |x| (std::f64::consts::FRAC_PI_2 - x).sin(),
    domain: Reals,
    edges: &[(0.0, 1.0), (f64::INFINITY, f64::NAN)],
    jet: Slope,
}
