//! add - sum of two tensors.   z = x + y,   dz = dx + dy.   Domain: all reals and integers (wrapping). Written `x + y`.

use crate::ground::prelude::*;

elementwise! {
    ADD = "add",
    value: |x, y| x + y,
    integer: |x, y| x.wrapping_add(y),
    slopes: [slope!(one), slope!(one)],
    rule: "dx = dz, dy = dz",
    reference: |x, y| x - (-y),
    domain: Reals,
    jet: Linear,
}
