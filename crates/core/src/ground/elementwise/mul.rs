//! mul - product of two tensors, element by element.   z = x y,   dz = y dx + x dy.   Domain: all reals and integers (wrapping). Written
//! `x * y`.

use crate::ground::prelude::*;

elementwise! {
    MUL = "mul",
    value: |x, y| x * y,
    integer: |x, y| x.wrapping_mul(y),
    slopes: [slope!(|y: operand 1| y), slope!(|x: operand 0| x)],
    rule: "dx = y dz, dy = x dz",
    reference: |x, y| if y == 0.0 { 0.0 * x } else { x / (1.0 / y) },
    domain: Reals,
    jet: Bilinear,
}
