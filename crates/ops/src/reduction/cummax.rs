//! cummax - running maximum along an axis, with its position.   y[t] = x[k], k the position of the largest of
//! x[0..=t],   dy[t] = dx[k].   The whole gradient goes to the returned position: the last one of a tie. NaN propagates.

use crate::prelude::*;
use wengert_kernels::scan;

/// The methods of `cummax`.
#[ext(CummaxMethods)]
impl Tensor {
    /// The running maximum of the elements along an axis, and its positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([1.0, 3.0, 2.0]).cummax(0);
    /// assert_eq!(values, Tensor::from([1.0, 3.0, 3.0]));
    /// assert_eq!(positions, Tensor::from([0i64, 1, 1]));
    /// ```
    #[track_caller]
    pub fn cummax(&self, axis: isize) -> (Tensor, Tensor) {
        CUMMAX.pick(self, axis, Attrs::new())
    }
}

/// The primitive `cummax`.
pub static CUMMAX: PickOp<CumMax> = PickOp::NEW;

/// See the module.
pub struct CumMax;

/// For each position, the last index so far whose element reaches all earlier ones.
pub(super) fn running(row: &[f64], reaches: fn(f64, f64) -> bool) -> Vec<usize> {
    let best = |t: usize| (0..=t).rev().find(|&k| (0..=t).all(|other| row[k].is_nan() || reaches(row[k], row[other])));
    (0..row.len()).map(|t| best(t).expect("one is best")).collect()
}

/// Runs a scan that finds positions.
macro_rules! scan_positions {
    ($scan:path, $x:expr, $axis:expr, $values:expr, $positions:expr) => {{
        let (layout, shape) = arranged($x, &[$axis]);
        computing!($x.dtype, T => {
            fill($values, |out: &mut [T]| $scan(&numbers(layout.over($x)), shape, out, $positions));
        });
    }};
}
pub(super) use scan_positions;

impl Pick for CumMax {
    const NAME: &'static str = "cummax";

    fn length(_attrs: &Attrs, n: usize) -> Result<Option<usize>, Error> {
        Ok(Some(n))
    }

    fn run(_attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        scan_positions!(scan::cummax, x, axis, values, positions);
    }

    fn reference(_attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        running(row, |best, other| best >= other)
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![1.0, 3.0, 3.0, 2.0], vec![1.0, f64::NAN, 5.0, f64::NAN]]
    }
}
