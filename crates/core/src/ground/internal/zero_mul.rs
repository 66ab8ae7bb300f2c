//! zero_mul - product that keeps all zeros.   z = a b, and 0 where a or b is 0, even if the other is infinite or NaN.
//!
//! dz = zero_mul(da, b) + zero_mul(db, a). It appears in the derivative of `guarded_mul` with respect to its second operand: a NaN
//! derivative, as in the branch of a selection that is not taken, contributes nothing where the first operand is 0.

use crate::ground::prelude::*;

/// The methods of `zero_mul`.
#[ext(ZeroMulMethods)]
impl Tensor {
    /// The product; 0 where either side is 0, even if the other is infinite or NaN.
    #[track_caller]
    pub fn zero_mul(&self, other: &Tensor) -> Tensor {
        binary(&ZERO_MUL, Attrs::new(), self, other)
    }
}

elementwise! {
    ZERO_MUL = "zero_mul",
    value: |a, b| crate::rules::both(a, b),
    slopes: [slope!(both |b: operand 1| b), slope!(both |a: operand 0| a)],
    rule: "da = zero_mul(dz, b), db = zero_mul(dz, a)",
    reference: |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { b / (1.0 / a) },
    domain: Reals,
    edges: &[(0.0, f64::INFINITY, 0.0), (f64::NAN, 0.0, 0.0), (0.0, f64::NAN, 0.0), (f64::INFINITY, 0.0, 0.0)],
    jet: Bilinear,
}
