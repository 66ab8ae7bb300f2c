//! log_softmax - logarithm of softmax.   y = x - log sum of e^x along an axis,   dy = dx - sum of e^y dx.   Finite for any finite x, even
//! where softmax underflows.

use crate::internal::log_softmax_gradient::LOG_SOFTMAX_GRADIENT;
use crate::prelude::*;
use wengert_kernels::rows;

/// The methods of `log_softmax`.
#[ext(LogSoftmaxMethods)]
impl Tensor {
    /// The logarithm of the softmax along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1e4, 0.0]).log_softmax(0), Tensor::from([0.0, -1e4]));
    /// ```
    #[track_caller]
    pub fn log_softmax(&self, axis: isize) -> Tensor {
        LOG_SOFTMAX.along(&[self], axis)
    }
}

/// The primitive `log_softmax`, along the last axis.
pub static LOG_SOFTMAX: RowMap = RowMap {
    name: "log_softmax",
    operands: 1,
    rule_text: "dx = dy - e^y sum of dy",
    flops: 5.0,
    f64: |x, n, out| rows::log_softmax(x[0], n, out),
    f32: |x, n, out| rows::log_softmax(x[0], n, out),
    saves: |_| Saves::NOTHING.output(0),
    pull: |rule, _, g| bind1(&LOG_SOFTMAX_GRADIENT, Attrs::new(), &[rule.output(0), g]),
    push: |rule, _, dx| dx - (rule.output(0).exp() * dx).sum_over(keepdim(-1)),
    reference: |x| {
        let share = |i: f64| -x[0].iter().map(|j| (j - i).exp()).sum::<f64>().ln();
        x[0].iter().map(|&i| if i == f64::NEG_INFINITY { i } else { share(i) }).collect()
    },
    edges: &[&[300.0, -20.0], &[f64::NEG_INFINITY, 0.0]],
};
