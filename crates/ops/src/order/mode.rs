//! mode - most frequent element along an axis, with its position.   y = x[k], k its first position,   dy = dx[k].   Ties go to the smallest
//! element. The mode of no elements is an error.

use crate::prelude::*;
use wengert_kernels::order;

/// The methods of `mode`.
#[ext(ModeMethods)]
impl Tensor {
    /// The most frequent elements along an axis, and their first positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (value, position) = Tensor::from([4.0, 1.0, 4.0]).mode(0);
    /// assert_eq!((value.item(), position.item()), (4.0, 0.0));
    /// assert_eq!(Tensor::from([4.0, 1.0, 4.0]).mode(keepdim(0)).0, Tensor::from([4.0]));
    /// ```
    #[track_caller]
    pub fn mode(&self, axis: impl Into<Over>) -> (Tensor, Tensor) {
        MODE.pick(self, axis, Attrs::new())
    }
}

/// The primitive `mode`.
pub static MODE: PickOp<Mode> = PickOp::NEW;

/// See the module.
pub struct Mode;

impl Pick for Mode {
    const NAME: &'static str = "mode";
    const NEEDS_ELEMENTS: bool = true;

    fn length(_attrs: &Attrs, _n: usize) -> Result<Option<usize>, Error> {
        Ok(None)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        computing!(x.dtype, T => pick_rows::<T>(x, axis, values, positions, order::mode));
    }

    fn reference(_attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        let count = |k: usize| row.iter().filter(|x| **x == row[k]).count();
        let better = |k: usize, best: usize| (count(k), -row[k]) > (count(best), -row[best]);
        vec![(0..row.len()).fold(0, |best, k| if better(k, best) { k } else { best })]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![3.0, 1.0, 2.0, 1.0, 3.0], vec![1.0, 2.0, 2.0]]
    }
}
