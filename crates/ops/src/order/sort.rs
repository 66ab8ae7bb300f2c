//! sort - sorted elements along an axis, with their positions.   y = x[k], k the order,   dy = dx[k].   Stable: equal elements keep their
//! order, also in descending order. NaN sorts as the greatest. The whole gradient goes to the position that an element came from.

use crate::prelude::*;
use wengert_kernels::order;

/// The methods of `sort`.
#[ext(SortMethods)]
impl Tensor {
    /// Sorts the elements in ascending order along an axis; also returns the positions they came from.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([3.0, 1.0, 2.0]).sort(0);
    /// assert_eq!(values, Tensor::from([1.0, 2.0, 3.0]));
    /// assert_eq!(positions, Tensor::from([1i64, 2, 0]));
    /// ```
    #[track_caller]
    pub fn sort(&self, axis: isize) -> (Tensor, Tensor) {
        SORT.pick(self, axis, Attrs::new().with_int("descending", 0))
    }

    /// Sorts the elements in descending order along an axis; also returns the positions they came from.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (values, positions) = Tensor::from([3.0, 1.0, 3.0]).sort_descending(0);
    /// assert_eq!(values, Tensor::from([3.0, 3.0, 1.0]));
    /// assert_eq!(positions, Tensor::from([0i64, 2, 1]));
    /// ```
    #[track_caller]
    pub fn sort_descending(&self, axis: isize) -> (Tensor, Tensor) {
        SORT.pick(self, axis, Attrs::new().with_int("descending", 1))
    }

    /// The positions that sort the elements in ascending order along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 1.0, 2.0]).argsort(0), Tensor::from([1i64, 2, 0]));
    /// ```
    #[track_caller]
    pub fn argsort(&self, axis: isize) -> Tensor {
        self.sort(axis).1
    }

    /// The positions that sort the elements in descending order along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([3.0, 1.0, 2.0]).argsort_descending(0), Tensor::from([0i64, 2, 1]));
    /// ```
    #[track_caller]
    pub fn argsort_descending(&self, axis: isize) -> Tensor {
        self.sort_descending(axis).1
    }
}

/// The primitive `sort`.
pub static SORT: PickOp<Sort> = PickOp::NEW;

/// See the module.
pub struct Sort;

/// Positions in stable order by insertion sort; NaN is the greatest.
pub(super) fn ordered(row: &[f64], descending: bool) -> Vec<usize> {
    let above = |a: f64, b: f64| a > b || (a.is_nan() && !b.is_nan());
    let mut order: Vec<usize> = Vec::new();
    for k in 0..row.len() {
        let after = |other: &&usize| if descending { above(row[k], row[**other]) } else { above(row[**other], row[k]) };
        let place = order.len() - order.iter().rev().take_while(after).count();
        order.insert(place, k);
    }
    order
}

impl Pick for Sort {
    const NAME: &'static str = "sort";
    const ATTRIBUTES: &'static [&'static str] = &["axis", "descending"];
    const FLAGS: &'static [&'static str] = &["descending"];
    const RULE: &'static str = "dx[k] = dy, back to the positions k that elements came from";

    fn length(_attrs: &Attrs, n: usize) -> Result<Option<usize>, Error> {
        Ok(Some(n))
    }

    fn run(attrs: &Attrs, x: View<'_>, axis: usize, values: Out<'_>, positions: &mut [i64]) {
        let descending = attrs.int("descending") == 1;
        computing!(x.dtype, T => pick_rows::<T>(x, axis, values, positions, |x, n, values, positions| {
            order::sort(x, n, descending, values, positions)
        }));
    }

    fn reference(attrs: &Attrs, row: &[f64]) -> Vec<usize> {
        ordered(row, attrs.int("descending") == 1)
    }

    fn tried() -> Vec<Attrs> {
        vec![Attrs::new().with_int("descending", 0), Attrs::new().with_int("descending", 1)]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0, 1.0, 2.0, -0.0, 0.0], vec![f64::NAN, 1.0, f64::INFINITY, f64::NAN]]
    }
}
