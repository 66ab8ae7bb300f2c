//! log_softmax_gradient - derivative of log_softmax from its value.   z = g - e^y sum of g along the last axis.
//!
//! dz = dg - e^y sum of dg - e^y dy sum of g. Its own primitive, so that plain values use one fused kernel.

use crate::prelude::*;
use wengert_kernels::rows;

/// The primitive `log_softmax_gradient`, of y and g.
pub static LOG_SOFTMAX_GRADIENT: RowMap = RowMap {
    name: "log_softmax_gradient",
    operands: 2,
    rule_text: "dg = dz - sum of e^y dz, dy = -dz e^y sum of g",
    flops: 4.0,
    f64: |x, n, out| rows::log_softmax_gradient(x[0], x[1], n, out),
    f32: |x, n, out| rows::log_softmax_gradient(x[0], x[1], n, out),
    saves: |wanted| if wanted.has(0) { Saves::NOTHING.operand(0).operand(1) } else { Saves::NOTHING.operand(0) },
    pull: |rule, position, u| {
        let y = rule.operand(0);
        match position {
            0 => -(u * y.exp() * rule.operand(1).sum_over(keepdim(-1))),
            _ => u - (y.exp() * u).sum_over(keepdim(-1)),
        }
    },
    push: |rule, position, tangent| {
        let y = rule.operand(0);
        match position {
            0 => -(tangent * y.exp() * rule.operand(1).sum_over(keepdim(-1))),
            _ => bind1(&LOG_SOFTMAX_GRADIENT, Attrs::new(), &[y, tangent]),
        }
    },
    reference: |x| {
        let (y, g) = (x[0], x[1]);
        let pairs = |i: usize| (0..y.len()).map(move |j| (f64::from(i == j) - y[i].exp()) * g[j]);
        (0..y.len()).map(|i| pairs(i).sum()).collect()
    },
    edges: &[],
};
