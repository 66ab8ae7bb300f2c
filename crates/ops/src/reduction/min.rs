//! min - smallest element along an axis, with its position.   y = x[k], k = argmin x,   dy = dx[k].   The whole gradient goes to the
//! returned position: the first one of a tie. NaN propagates. The minimum of no elements is an error.

use crate::prelude::*;
use wengert_kernels::reduce;

/// The methods of `min`.
#[ext(MinMethods)]
impl Tensor {
    /// The smallest elements along an axis, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).min_along(-1);
    /// assert_eq!(values, Tensor::from([1.0, 2.0]));
    /// assert_eq!(positions, Tensor::from([0i64, 1]));
    /// let (values, _) = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).min_along(keepdim(1));
    /// assert_eq!(values, Tensor::from([[1.0], [2.0]]));
    /// ```
    #[track_caller]
    pub fn min_along(&self, axis: impl Into<Over>) -> (Tensor, Tensor) {
        MIN.pick(self, axis, Attrs::new())
    }

    /// The row-major position of the smallest of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).argmin().item(), 0.0);
    /// ```
    #[track_caller]
    pub fn argmin(&self /* of some axes: argmin_along(axis) */) -> Tensor {
        MIN.pick(&self.reshape([self.elements()]), 0, Attrs::new()).1
    }

    /// The positions of the smallest elements along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).argmin_along(0), Tensor::from([0i64, 1]));
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).argmin_along(keepdim(1)), Tensor::from([[0i64], [1]]));
    /// ```
    #[track_caller]
    pub fn argmin_along(&self, axis: impl Into<Over>) -> Tensor {
        MIN.pick(self, axis, Attrs::new()).1
    }
}

/// The primitive `min`.
pub static MIN: PickOp<Min> = PickOp::NEW;

/// See the module.
pub struct Min;

impl Pick for Min {
    const NAME: &'static str = "min";
    const RULE: &'static str = "dx[k] += dy at the position k of the minimum";
    const NEEDS_ELEMENTS: bool = true;

    fn length(_attrs: &Attrs, _n: usize) -> Result<Option<usize>, Error> {
        Ok(None)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        reduce::min(x, axis, values, positions);
    }

    fn reference(_attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        let beats = |k: usize, best: usize| row[k] < row[best] || (row[k].is_nan() && !row[best].is_nan());
        vec![(0..row.len()).fold(0, |best, k| if beats(k, best) { k } else { best })]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![4.0, 3.0, 3.0, 5.0], vec![1.0, f64::NAN, 5.0, f64::NAN]]
    }
}
