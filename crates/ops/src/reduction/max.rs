//! max - largest element along an axis, with its position.   y = x[k], k = argmax x,   dy = dx[k].   The whole gradient goes to the
//! returned position: the first one of a tie. NaN propagates. The maximum of no elements is an error.

use crate::prelude::*;
use wengert_kernels::reduce;

/// The methods of `max`.
#[ext(MaxMethods)]
impl Tensor {
    /// The largest elements along an axis, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).max_along(-1);
    /// assert_eq!(values, Tensor::from([5.0, 7.0]));
    /// assert_eq!(positions, Tensor::from([1i64, 0]));
    /// let (values, _) = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).max_along(keepdim(1));
    /// assert_eq!(values, Tensor::from([[5.0], [7.0]]));
    /// ```
    #[track_caller]
    pub fn max_along(&self, axis: impl Into<Over>) -> (Tensor, Tensor) {
        MAX.pick(self, axis, Attrs::new())
    }

    /// The row-major position of the largest of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).argmax().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn argmax(&self /* of some axes: argmax_along(axis) */) -> Tensor {
        MAX.pick(&self.reshape([self.elements()]), 0, Attrs::new()).1
    }

    /// The positions of the largest elements along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).argmax_along(0), Tensor::from([1i64, 0]));
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).argmax_along(keepdim(1)), Tensor::from([[1i64], [0]]));
    /// ```
    #[track_caller]
    pub fn argmax_along(&self, axis: impl Into<Over>) -> Tensor {
        MAX.pick(self, axis, Attrs::new()).1
    }
}

/// The primitive `max`.
pub static MAX: PickOp<Max> = PickOp::NEW;

/// See the module.
pub struct Max;

impl Pick for Max {
    const NAME: &'static str = "max";
    const RULE: &'static str = "dx[k] += dy at the position k of the maximum";
    const NEEDS_ELEMENTS: bool = true;

    fn length(_attrs: &Attrs, _n: usize) -> Result<Option<usize>, Error> {
        Ok(None)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        reduce::max(x, axis, values, positions);
    }

    fn reference(_attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        let beats = |k: usize, best: usize| row[k] > row[best] || (row[k].is_nan() && !row[best].is_nan());
        vec![(0..row.len()).fold(0, |best, k| if beats(k, best) { k } else { best })]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![1.0, 3.0, 3.0, 2.0], vec![1.0, f64::NAN, 5.0, f64::NAN]]
    }
}
