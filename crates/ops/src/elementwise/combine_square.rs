//! combine_square - weighted sum of a tensor and the square of another.   z = a x + b y^2,   dz = a dx + 2 b y dy.   Domain: all reals.
//! Moving averages of squares, as in optimisers and normalisation layers, in one pass over memory.

use super::combine::weights;
use crate::prelude::*;

/// The methods of `combine_square`.
#[ext(CombineSquareMethods)]
impl Tensor {
    /// `a` times this tensor plus `b` times the square of another.
    ///
    /// ```
    /// use wengert::{fused::*, prelude::*};
    /// assert_eq!(Tensor::from([1.0, 2.0]).combine_square(0.5, &Tensor::from([3.0, 4.0]), 2.0), Tensor::from([18.5, 33.0]));
    /// ```
    #[track_caller]
    pub fn combine_square(&self, a: f64, other: impl Operand, b: f64) -> Tensor {
        binary(&COMBINE_SQUARE, weights(a, b), self, &other.tensor(self.dtype()))
    }

    /// [`combine_square`](Tensor::combine_square) in place.
    ///
    /// ```
    /// use wengert::{fused::*, prelude::*};
    /// let mut mean = Tensor::from([1.0, 2.0]);
    /// mean.combine_square_assign(0.5, &Tensor::from([3.0, 4.0]), 0.5);
    /// assert_eq!(mean, Tensor::from([5.0, 9.0]));
    /// ```
    #[track_caller]
    pub fn combine_square_assign(&mut self, a: f64, other: impl Operand, b: f64) {
        self.assign_with(&COMBINE_SQUARE, weights(a, b), other);
    }
}

elementwise! {
    COMBINE_SQUARE = "combine_square",
    parameters: [a = 0.75, b = -1.5],
    value: |x, y| a * x + b * (y * y),
    slopes: [slope!(parameter 0), slope!(|y: operand 1; _a, b| 2.0 * b * y)],
    rule: "dx = a dz, dy = 2 b y dz",
    reference: |x, y| b * y.powi(2) + x * a,
    domain: Reals,
    jet: Slope,
}
