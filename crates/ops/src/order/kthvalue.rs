//! kthvalue - the k-th smallest element along an axis, with its position.   y = x[k-th in order],   dy = dx[k-th in order].   k counts from
//! 1; equal elements are ordered by position. NaN sorts last.

use super::sort::ordered;
use super::topk::at_most;
use crate::prelude::*;
use wengert_kernels::order;

/// The methods of `kthvalue`.
#[ext(KthvalueMethods)]
impl Tensor {
    /// The `k`-th smallest elements (counting from 1) along an axis, and their positions.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (value, position) = Tensor::from([3.0, 9.0, 4.0]).kthvalue(2, 0);
    /// assert_eq!((value.item(), position.item()), (4.0, 2.0));
    /// assert_eq!(Tensor::from([3.0, 9.0, 4.0]).kthvalue(1, keepdim(0)).0, Tensor::from([3.0]));
    /// ```
    #[track_caller]
    pub fn kthvalue(&self, k: usize, axis: impl Into<Over>) -> (Tensor, Tensor) {
        KTHVALUE.pick(self, axis, Attrs::new().with_int("k", k as i64))
    }
}

/// The primitive `kthvalue`.
pub static KTHVALUE: PickOp<KthValue> = PickOp::NEW;

/// See the module.
pub struct KthValue;

impl Pick for KthValue {
    const NAME: &'static str = "kthvalue";
    const ATTRIBUTES: &'static [&'static str] = &["axis", "k"];

    fn length(attrs: &Attrs, n: usize) -> Result<Option<usize>, Error> {
        if attrs.int("k") == 0 {
            return Err(Error::new(ErrorKind::Range, "kthvalue", "k = 0, and elements are counted from 1")
                .help("the smallest element is k = 1"));
        }
        at_most("kthvalue", attrs.int("k"), n).map(|_| None)
    }

    fn run(attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        let k = attrs.int("k") as usize - 1;
        computing!(x.dtype, T => pick_rows::<T>(x, axis, values, positions, |x, n, values, positions| {
            order::kth_value(x, n, k, values, positions)
        }));
    }

    fn reference(attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        vec![ordered(row, false)[attrs.int("k") as usize - 1]]
    }

    fn tried() -> Vec<Attrs> {
        [1, 2, 4].map(|k| Attrs::new().with_int("k", k)).into()
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0, 1.0, 2.0, 0.0], vec![f64::NAN, 1.0, f64::INFINITY, f64::NAN]]
    }
}
