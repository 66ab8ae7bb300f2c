//! median - middle element along an axis, with its position.   y = x[k], k the lower middle of the order,   dy = dx[k].   A row with NaN
//! gives NaN, unless NaN is ignored (`nanmedian`). The median of no elements is an error.

use super::sort::ordered;
use crate::prelude::*;
use wengert_kernels::order;

/// The methods of `median`.
#[ext(MedianMethods)]
impl Tensor {
    /// The median of all elements; the lower of two middle ones.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[4.0, 1.0], [3.0, 2.0]]).median().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn median(&self /* of some axes: median_along(axis) */) -> Tensor {
        MEDIAN.pick(&self.reshape([self.elements()]), 0, skipping(false)).0
    }

    /// The medians along an axis, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (value, position) = Tensor::from([4.0, 1.0, 3.0]).median_along(0);
    /// assert_eq!((value.item(), position.item()), (3.0, 2.0));
    /// assert_eq!(Tensor::from([4.0, 1.0, 3.0]).median_along(keepdim(0)).0, Tensor::from([3.0]));
    /// ```
    #[track_caller]
    pub fn median_along(&self, axis: impl Into<Over>) -> (Tensor, Tensor) {
        MEDIAN.pick(self, axis, skipping(false))
    }

    /// The median of all elements that are not NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([4.0, f64::NAN, 1.0, 3.0]).nanmedian().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn nanmedian(&self) -> Tensor {
        MEDIAN.pick(&self.reshape([self.elements()]), 0, skipping(true)).0
    }

    /// The medians along an axis of the elements that are not NaN, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([4.0, f64::NAN, 1.0, 3.0]).nanmedian_along(0).1.item(), 3.0);
    /// assert_eq!(Tensor::from([4.0, f64::NAN]).nanmedian_along(keepdim(0)).0, Tensor::from([4.0]));
    /// ```
    #[track_caller]
    pub fn nanmedian_along(&self, axis: impl Into<Over>) -> (Tensor, Tensor) {
        MEDIAN.pick(self, axis, skipping(true))
    }
}

fn skipping(nan: bool) -> Attrs {
    Attrs::new().with_int("skip_nan", i64::from(nan))
}

/// The primitive `median`.
pub static MEDIAN: PickOp<Median> = PickOp::NEW;

/// See the module.
pub struct Median;

impl Pick for Median {
    const NAME: &'static str = "median";
    const ATTRIBUTES: &'static [&'static str] = &["axis", "skip_nan"];
    const FLAGS: &'static [&'static str] = &["skip_nan"];
    const NEEDS_ELEMENTS: bool = true;

    fn length(_attrs: &Attrs, _n: usize) -> Result<Option<usize>, Error> {
        Ok(None)
    }

    fn run(attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        let skip_nan = attrs.int("skip_nan") == 1;
        computing!(x.dtype, T => pick_rows::<T>(x, axis, values, positions, |x, n, values, positions| {
            order::median(x, n, skip_nan, values, positions)
        }));
    }

    fn reference(attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        let order = ordered(row, false);
        let numbers = row.iter().filter(|x| !x.is_nan()).count();
        vec![match (numbers < row.len(), attrs.int("skip_nan") == 1) {
            (true, false) => order[numbers],
            (_, _) => order[numbers.saturating_sub(1) / 2],
        }]
    }

    fn tried() -> Vec<Attrs> {
        vec![skipping(false), skipping(true)]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0, 1.0, 2.0, 2.0], vec![5.0, f64::NAN, 1.0, 4.0, f64::NAN], vec![f64::NAN; 2]]
    }
}
