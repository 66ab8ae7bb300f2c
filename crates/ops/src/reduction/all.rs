//! all - whether every element over axes is nonzero.   y = and of (x is not 0) over the axes.   No derivative. NaN is nonzero; for no
//! elements, true.

use super::any::decide;
use crate::prelude::*;
use wengert_kernels::extremes;

/// The methods of `all`.
#[ext(AllMethods)]
impl Tensor {
    /// Whether all elements are nonzero, or true.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0]).all(), Tensor::from(false));
    /// ```
    #[track_caller]
    pub fn all(&self /* of some axes: all_over(axes) */) -> Tensor {
        ALL.over(self, .., Attrs::new())
    }

    /// Whether all elements over some axes are nonzero.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1i64, 2], [0, 3]]).all_over(1), Tensor::from([true, false]));
    /// assert_eq!(Tensor::from([[false, true]]).all_over(keepdim(1)), Tensor::from([[false]]));
    /// ```
    #[track_caller]
    pub fn all_over(&self, axes: impl Into<Over>) -> Tensor {
        ALL.over(self, axes, Attrs::new())
    }
}

/// The primitive `all`.
pub static ALL: ReductionOp<All> = ReductionOp::NEW;

/// See the module.
pub struct All;

impl Reduction for All {
    const NAME: &'static str = "all";
    const DIFFERENTIABLE: bool = false;

    fn dtype(_x: DType) -> Result<DType, Error> {
        Ok(DType::Bool)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        decide!(extremes::all, x, axes, out);
    }

    fn reference(_attrs: &Attrs, elements: &[f64]) -> f64 {
        f64::from(elements.iter().filter(|x| **x == 0.0).count() == 0)
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![1.0, -0.0], vec![2.0, f64::NAN]]
    }
}
