//! amin - smallest element over axes.   y = min of x over the axes,   dy = mean of dx over the smallest elements.   Ties share the gradient
//! evenly; NaN propagates. The minimum of no elements is an error.

use super::amax::{extreme, mean_of_ties, share};
use crate::prelude::*;
use wengert_kernels::reduce;
use wengert_kernels::tiled::Fold;

/// The methods of `amin`.
#[ext(AminMethods)]
impl Tensor {
    /// The smallest of all elements; ties share the gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([4.0, 3.0, 7.0]).min().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn min(&self /* of some axes: min_over(axes), min_along(axis) */) -> Tensor {
        AMIN.over(self, .., Attrs::new())
    }

    /// The smallest elements over some axes; ties share the gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).min_over(0), Tensor::from([1.0, 2.0]));
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).min_over(keepdim(1)), Tensor::from([[1.0], [2.0]]));
    /// ```
    #[track_caller]
    pub fn min_over(&self, axes: impl Into<Over>) -> Tensor {
        AMIN.over(self, axes, Attrs::new())
    }
}

/// The primitive `amin`.
pub static AMIN: ReductionOp<Amin> = ReductionOp::NEW;

/// See the module.
pub struct Amin;

impl Reduction for Amin {
    const NAME: &'static str = "amin";
    const FOLD: Option<Fold> = Some(Fold::Min);
    const RULE: &'static str = "dx = dy shared by the smallest elements";
    const READS_OUTPUT: bool = true;
    const NEEDS_ELEMENTS: bool = true;

    fn dtype(x: DType) -> Result<DType, Error> {
        Ok(x)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        extreme(reduce::min, x, axes, out);
    }

    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        share(call, g)
    }

    fn push(call: &Reduced<'_>, tangent: &Tensor) -> Tensor {
        mean_of_ties(call, tangent)
    }

    fn reference(_attrs: &Attrs, elements: &[f64]) -> f64 {
        let mut sorted = elements.to_vec();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan())));
        sorted[0]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![1.0, 3.0, 1.0], vec![1.0, f64::NAN, 3.0], vec![f64::INFINITY; 2]]
    }
}
