//! softmax_gradient - derivative of softmax from its value.   z = y (g - sum of y g) along the last axis.
//!
//! dz = y (dg - sum of y dg) + dy (g - sum of y g) - y sum of g dy. Its own primitive, so that plain values use one fused kernel.

use crate::prelude::*;
use crate::rules::all_numbers;
use wengert_kernels::rows;

/// The primitive `softmax_gradient`, of y and g.
pub static SOFTMAX_GRADIENT: RowMap = RowMap {
    name: "softmax_gradient",
    operands: 2,
    rule_text: "dg = y (dz - sum of y dz), dy = dz (g - sum of y g) - g sum of y dz",
    flops: 4.0,
    f64: |x, n, out| rows::softmax_gradient(x[0], x[1], n, out),
    f32: |x, n, out| rows::softmax_gradient(x[0], x[1], n, out),
    saves: |wanted| if wanted.has(0) { Saves::NOTHING.operand(0).operand(1) } else { Saves::NOTHING.operand(0) },
    pull: |rule, position, u| {
        let y = rule.operand(0);
        match position {
            0 => by_value(y, rule.operand(1), u),
            _ => bind1(&SOFTMAX_GRADIENT, Attrs::new(), &[y, u]),
        }
    },
    push: |rule, position, tangent| {
        let y = rule.operand(0);
        match position {
            0 => tangent * centred(y, rule.operand(1)) - y * dot(rule.operand(1), tangent),
            _ => bind1(&SOFTMAX_GRADIENT, Attrs::new(), &[y, tangent]),
        }
    },
    reference: |x| {
        let (y, g) = (x[0], x[1]);
        let pairs = |i: usize| (0..y.len()).map(move |j| (f64::from(i == j) * y[i] - y[i] * y[j]) * g[j]);
        (0..y.len()).map(|i| pairs(i).sum()).collect()
    },
    edges: &[],
};

/// u (g - sum of y g) - g sum of y u: one kernel for plain values.
fn by_value(y: &Tensor, g: &Tensor, u: &Tensor) -> Tensor {
    if !all_numbers(&[y, g, u]) {
        return u * centred(y, g) - g * dot(y, u);
    }
    let n = y.shape()[y.rank() - 1];
    computing_float!(y.dtype(), T => {
        let [y_row, g, u] = [y, g, u].map(|tensor| numbers::<T>(tensor.value.view()));
        let write = |dy: &mut [T]| rows::softmax_gradient_by_value(&y_row, &g, &u, n, dy);
        Tensor::build(&y.spec(), |out| fill(out, write)).0
    })
}

fn dot(a: &Tensor, b: &Tensor) -> Tensor {
    (a * b).sum_over(keepdim(-1))
}

fn centred(y: &Tensor, g: &Tensor) -> Tensor {
    g - dot(y, g)
}
