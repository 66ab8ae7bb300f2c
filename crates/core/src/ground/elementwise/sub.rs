//! sub - difference of two tensors.   z = x - y,   dz = dx - dy.   Domain: all reals and integers (wrapping). Written `x - y`.

use crate::ground::prelude::*;

elementwise! {
    SUB = "sub",
    value: |x, y| x - y,
    integer: |x, y| x.wrapping_sub(y),
    slopes: [slope!(one), slope!(minus_one)],
    rule: "dx = dz, dy = -dz",
    reference: |x, y| x + (-y),
    domain: Reals,
    jet: Linear,
}
