//! softmax - exponentials divided by their sum.   y = e^x / sum of e^x along an axis,   dy = y (dx - sum of y dx).   Finite for any finite
//! x. A row of minus infinities gives NaN.

use crate::internal::softmax_gradient::SOFTMAX_GRADIENT;
use crate::prelude::*;
use crate::rules::all_numbers;
use wengert_kernels::rows;

/// The methods of `softmax`.
#[ext(SoftmaxMethods)]
impl Tensor {
    /// e^x divided by the sum of e^x along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1e4, 1e4]).softmax(-1), Tensor::from([0.5, 0.5]));
    /// ```
    #[track_caller]
    pub fn softmax(&self, axis: isize) -> Tensor {
        SOFTMAX.along(&[self], axis)
    }

    /// The softmax of the negative: the smallest element gets the largest share.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.softmin(0), (-&x).softmax(0));
    /// ```
    #[track_caller]
    pub fn softmin(&self, axis: isize) -> Tensor {
        (-self).softmax(axis)
    }
}

/// The primitive `softmax`, along the last axis.
pub static SOFTMAX: RowMap = RowMap {
    name: "softmax",
    operands: 1,
    rule_text: "dx = y (dy - sum of y dy)",
    flops: 5.0,
    f64: |x, n, out| rows::softmax(x[0], n, out),
    f32: |x, n, out| rows::softmax(x[0], n, out),
    saves: |_| Saves::NOTHING.output(0),
    pull: |rule, _, g| bind1(&SOFTMAX_GRADIENT, Attrs::new(), &[rule.output(0), g]),
    // The Jacobian is symmetric, but products of series need the explicit products.
    push: |rule, _, dx| match rule.output(0) {
        y if all_numbers(&[y, dx]) => bind1(&SOFTMAX_GRADIENT, Attrs::new(), &[y, dx]),
        y => y * (dx - (y * dx).sum_over(keepdim(-1))),
    },
    reference: |x| {
        let share = |i: f64| 1.0 / x[0].iter().map(|j| (j - i).exp()).sum::<f64>();
        x[0].iter().map(|&i| if i == f64::NEG_INFINITY { 0.0 } else { share(i) }).collect()
    },
    edges: &[&[1e4, 1e4, -1e4], &[f64::NEG_INFINITY, 0.0]],
};
