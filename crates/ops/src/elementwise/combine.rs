//! combine - weighted sum of two tensors.   z = a x + b y,   dz = a dx + b dy.   Domain: all reals. One pass over memory where a product
//! and a sum would take two; with `combine_assign`, in place.

use crate::prelude::*;

/// The methods of `combine`.
#[ext(CombineMethods)]
impl Tensor {
    /// `a` times this tensor plus `b` times another.
    ///
    /// ```
    /// use wengert::{fused::*, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).combine(0.5, &Tensor::from([10.0, 20.0]), 2.0), Tensor::from([20.5, 41.0]));
    /// ```
    #[track_caller]
    pub fn combine(&self, a: f64, other: impl Operand, b: f64) -> Tensor {
        binary(&COMBINE, weights(a, b), self, &other.tensor(self.dtype()))
    }

    /// [`combine`](Tensor::combine) in place, for moving averages and steps along a gradient.
    ///
    /// ```
    /// use wengert::{fused::*, prelude::*};
    /// let mut x = Tensor::from([1.0, 2.0]).require_grad();
    /// (&x * &x).sum().backward();
    /// let step = x.take_grad().unwrap();
    /// no_grad(|| x.combine_assign(1.0, &step, -0.25));
    /// assert_eq!(x, Tensor::from([0.5, 1.0]));
    /// assert!(x.requires_grad());
    /// ```
    #[track_caller]
    pub fn combine_assign(&mut self, a: f64, other: impl Operand, b: f64) {
        self.assign_with(&COMBINE, weights(a, b), other);
    }
}

pub(super) fn weights(a: f64, b: f64) -> Attrs {
    Attrs::new().with_real("a", a).with_real("b", b)
}

elementwise! {
    COMBINE = "combine",
    parameters: [a = 0.75, b = -1.5],
    value: |x, y| a * x + b * y,
    slopes: [slope!(parameter 0), slope!(parameter 1)],
    rule: "dx = a dz, dy = b dz",
    reference: |x, y| b * y + x * a,
    domain: Reals,
    jet: Linear,
}
