//! div - quotient of two tensors.   z = x / y,   dz = (dx - z dy) / y.   Domain: y != 0; x/0 is infinite or NaN.
//! Written `x / y`.

use crate::ground::prelude::*;

elementwise! {
    DIV = "div",
    value: |x, y| x / y,
    slopes: [slope!(|y: operand 1| 1.0 / y), slope!(|y: operand 1, z: output 0| -(z / y))],
    rule: "dx = dz / y, dy = -z dz / y",
    reference: |x, y| x * y.powi(-1),
    domain: Positive,
    jet: Quotient(1),
}
