//! topk - the k largest or smallest elements along an axis, with their positions.   y = x[k], k the first positions of the
//! order,   dy = dx[k].   Ordered from the largest (smallest) on; ties by position. NaN is the greatest.

use super::sort::ordered;
use crate::prelude::*;
use wengert_kernels::order;

/// The methods of `topk`.
#[ext(TopkMethods)]
impl Tensor {
    /// The `k` largest elements along an axis, largest first, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([3.0, 9.0, 4.0]).topk(2, 0);
    /// assert_eq!(values, Tensor::from([9.0, 4.0]));
    /// assert_eq!(positions, Tensor::from([1i64, 2]));
    /// ```
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize) -> (Tensor, Tensor) {
        TOPK.pick(self, axis, Attrs::new().with_int("k", k as i64).with_int("largest", 1))
    }

    /// The `k` smallest elements along an axis, smallest first, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 9.0, 4.0]).topk_smallest(2, 0).0, Tensor::from([3.0, 4.0]));
    /// ```
    #[track_caller]
    pub fn topk_smallest(&self, k: usize, axis: isize) -> (Tensor, Tensor) {
        TOPK.pick(self, axis, Attrs::new().with_int("k", k as i64).with_int("largest", 0))
    }
}

/// The primitive `topk`.
pub static TOPK: PickOp<TopK> = PickOp::NEW;

/// See the module.
pub struct TopK;

/// The count, or an error if an axis of `n` elements has fewer.
pub(super) fn at_most(name: &'static str, k: i64, n: usize) -> Result<usize, Error> {
    match usize::try_from(k) {
        Ok(k) if k <= n => Ok(k),
        _ => {
            let message = format!("k = {k} of an axis of {n} elements");
            Err(Error::new(ErrorKind::Range, name, message).help(format!("k is at most {n}")))
        }
    }
}

impl Pick for TopK {
    const NAME: &'static str = "topk";
    const ATTRIBUTES: &'static [&'static str] = &["axis", "k", "largest"];
    const FLAGS: &'static [&'static str] = &["largest"];

    fn length(attrs: &Attrs, n: usize) -> Result<Option<usize>, Error> {
        at_most("topk", attrs.int("k"), n).map(Some)
    }

    fn run(attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        let (k, largest) = (attrs.int("k") as usize, attrs.int("largest") == 1);
        computing!(x.dtype, T => pick_rows::<T>(x, axis, values, positions, |x, n, values, positions| {
            order::topk(x, n, k, largest, values, positions)
        }));
    }

    fn reference(attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        let mut order = ordered(row, attrs.int("largest") == 1);
        order.truncate(attrs.int("k") as usize);
        order
    }

    fn tried() -> Vec<Attrs> {
        let tried = |k: i64, largest: i64| Attrs::new().with_int("k", k).with_int("largest", largest);
        vec![tried(1, 1), tried(3, 1), tried(2, 0), tried(0, 1)]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0, 1.0, 2.0, 0.0], vec![f64::NAN, 1.0, f64::INFINITY, f64::NAN]]
    }
}
