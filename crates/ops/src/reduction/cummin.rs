//! cummin - running minimum along an axis, with its position.   y[t] = x[k], k the position of the smallest of
//! x[0..=t],   dy[t] = dx[k].   The whole gradient goes to the returned position: the last one of a tie. NaN propagates.

use super::cummax::{running, scan_positions};
use crate::prelude::*;
use wengert_kernels::scan;

/// The methods of `cummin`.
#[ext(CumminMethods)]
impl Tensor {
    /// The running minimum of the elements along an axis, and its positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([1.0, 3.0, 2.0]).cummin(0);
    /// assert_eq!(values, Tensor::from([1.0, 1.0, 1.0]));
    /// assert_eq!(positions, Tensor::from([0i64, 0, 0]));
    /// ```
    #[track_caller]
    pub fn cummin(&self, axis: isize) -> (Tensor, Tensor) {
        CUMMIN.pick(self, axis, Attrs::new())
    }
}

/// The primitive `cummin`.
pub static CUMMIN: PickOp<CumMin> = PickOp::NEW;

/// See the module.
pub struct CumMin;

impl Pick for CumMin {
    const NAME: &'static str = "cummin";

    fn length(_attrs: &Attrs, n: usize) -> Result<Option<usize>, Error> {
        Ok(Some(n))
    }

    fn run(_attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        scan_positions!(scan::cummin, x, axis, values, positions);
    }

    fn reference(_attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        running(row, |best, other| best <= other)
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![3.0, 1.0, 1.0, 2.0], vec![1.0, f64::NAN, 5.0, f64::NAN]]
    }
}
