//! guarded_mul - product that keeps zeros.   z = g s, and 0 where g is 0 for any s, or where s is 0 and g is infinite.
//!
//! dz = guarded_mul(dg, s) + zero_mul(ds, g): the derivative of the product, not of a selection. So second derivatives are right where a
//! first one vanishes, and where g is 0 the derivative of s does not matter. Rules use it for elementwise slopes, never inside
//! contractions. The drawback: at 0, sqrt(x)^2 has gradient 0 where NaN or 1 might be argued.

use crate::autograd::modes;
use crate::ground::prelude::*;
use crate::location::Line;

/// The methods of `guarded_mul`.
#[ext(GuardedMulMethods)]
impl Tensor {
    /// This cotangent times a slope. The result is 0 where the cotangent is 0, even if the slope is infinite or NaN, and where the slope is
    /// 0, even if the cotangent is infinite.
    ///
    /// ```
    /// use wengert::{prelude::*, primitive::*};
    /// let g = Tensor::from([0.0, 2.0]);
    /// assert_eq!(g.guarded_mul(&Tensor::from([f64::INFINITY, 3.0])), Tensor::from([0.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn guarded_mul(&self, slope: &Tensor) -> Tensor {
        if modes::detects_anomalies() {
            note_guarded(self, slope);
        }
        binary(&GUARDED_MUL, Attrs::new(), self, slope)
    }
}

/// Counts, for anomaly mode, the elements where the guard changed the result.
#[track_caller]
fn note_guarded(g: &Tensor, slope: &Tensor) {
    let (Ok(g), Ok(slope)) = (g.numbers("guarded_mul"), slope.numbers("guarded_mul")) else { return };
    let (g, slope) = (Tensor::from(g.clone()), Tensor::from(slope.clone()));
    let Some(shape): Option<Shape> = crate::tensor::broadcast(g.shape(), slope.shape()) else { return };
    let numbers = |tensor: Tensor| tensor.broadcast_to(&shape).to_f64_vec();
    let matters = |(g, slope): &(f64, f64)| (*g == 0.0 && !slope.is_finite()) || (*slope == 0.0 && g.is_infinite());
    let count = numbers(g).into_iter().zip(numbers(slope)).filter(matters).count();
    if count > 0 {
        modes::note_guarded(count, Line::caller());
    }
}

elementwise! {
    GUARDED_MUL = "guarded_mul",
    value: |g, s| crate::rules::guarded(g, s),
    slopes: [slope!(|s: operand 1| s), slope!(both |g: operand 0| g)],
    rule: "dg = guarded_mul(dz, s), ds = zero_mul(dz, g)",
    reference: |g, s| if g == 0.0 || (s == 0.0 && !g.is_nan()) { 0.0 } else { s / (1.0 / g) },
    domain: Reals,
    edges: &[(0.0, f64::INFINITY, 0.0), (0.0, f64::NAN, 0.0), (f64::INFINITY, 0.0, 0.0)],
    jet: Bilinear,
}
