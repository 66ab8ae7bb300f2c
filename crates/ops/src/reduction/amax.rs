//! amax - largest element over axes.   y = max of x over the axes,   dy = mean of dx over the largest elements.   Ties share the gradient
//! evenly; NaN propagates. The maximum of no elements is an error.

use crate::prelude::*;
use crate::reduction::amin::AMIN;
use wengert_kernels::reduce;
use wengert_kernels::tiled::Fold;

/// The methods of `amax`.
#[ext(AmaxMethods)]
impl Tensor {
    /// The largest of all elements; ties share the gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 3.0, 3.0]).require_grad();
    /// x.max().backward();
    /// assert_eq!(x.grad().unwrap(), Tensor::from([0.0, 0.5, 0.5]));
    /// ```
    #[track_caller]
    pub fn max(&self /* of some axes: max_over(axes), max_along(axis) */) -> Tensor {
        AMAX.over(self, .., Attrs::new())
    }

    /// The largest elements over some axes; ties share the gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).max_over(0), Tensor::from([7.0, 5.0]));
    /// assert_eq!(Tensor::from([[1.0, 5.0], [7.0, 2.0]]).max_over(keepdim(1)), Tensor::from([[5.0], [7.0]]));
    /// ```
    #[track_caller]
    pub fn max_over(&self, axes: impl Into<Over>) -> Tensor {
        AMAX.over(self, axes, Attrs::new())
    }

    /// The smallest and the largest elements over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (least, largest) = Tensor::from([[1.0, 5.0], [7.0, 2.0]]).min_max_over([0, 1]);
    /// assert_eq!((least.item(), largest.item()), (1.0, 7.0));
    /// assert_eq!(Tensor::from([[1.0, 5.0]]).min_max_over(keepdim(1)).1, Tensor::from([[5.0]]));
    /// ```
    #[track_caller]
    pub fn min_max_over(&self, axes: impl Into<Over>) -> (Tensor, Tensor) {
        let over = axes.into();
        (AMIN.over(self, over.clone(), Attrs::new()), AMAX.over(self, over, Attrs::new()))
    }
}

/// The primitive `amax`.
pub static AMAX: ReductionOp<Amax> = ReductionOp::NEW;

/// See the module.
pub struct Amax;

/// A kernel that reduces one axis and finds the positions of the results.
pub(super) type Extreme = fn(View<'_>, usize, Out<'_>, &mut [i64]);

/// Reduces all axes as one; the positions are not needed.
pub(super) fn extreme(kernel: Extreme, x: View<'_>, axes: &[usize], out: Out<'_>) {
    let (layout, shape) = arranged(x, axes);
    let rows = Laid::reshaped(layout.over(x), &Shape::from(shape));
    let mut positions = Buffer::new(shape[0] * shape[2]);
    kernel(rows.view(), 1, out, &mut positions);
}

/// The elements that equal the result, and their number. If there is a NaN, it is the result.
fn ties(call: &Reduced<'_>) -> (Tensor, Tensor) {
    let (x, y) = (call.x(), call.y());
    let ties = x.equal(y.broadcast_to(x.shape())).logical_or(&x.not_equal(x));
    let count = call.sum(&ties.cast(x.dtype()));
    (ties, count)
}

/// Distributes the gradient evenly over all elements that equal the result.
pub(super) fn share(call: &Reduced<'_>, g: Tensor) -> Tensor {
    let (ties, count) = ties(call);
    ties.where_(g / count, 0.0)
}

/// The mean of the tangents of all elements that equal the result.
pub(super) fn mean_of_ties(call: &Reduced<'_>, tangent: &Tensor) -> Tensor {
    let (ties, count) = ties(call);
    let total = call.sum(&ties.where_(tangent, 0.0)) / count;
    let kept: Vec<usize> =
        (0..total.rank()).filter(|axis| !call.axes.contains(axis)).map(|axis| total.shape()[axis]).collect();
    total.reshape(kept)
}

impl Reduction for Amax {
    const NAME: &'static str = "amax";
    const FOLD: Option<Fold> = Some(Fold::Max);
    const RULE: &'static str = "dx = dy shared by the largest elements";
    const READS_OUTPUT: bool = true;
    const NEEDS_ELEMENTS: bool = true;

    fn dtype(x: DType) -> Result<DType, Error> {
        Ok(x)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        extreme(reduce::max, x, axes, out);
    }

    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        share(call, g)
    }

    fn push(call: &Reduced<'_>, tangent: &Tensor) -> Tensor {
        mean_of_ties(call, tangent)
    }

    fn reference(_attrs: &Attrs, elements: &[f64]) -> f64 {
        let mut sorted = elements.to_vec();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())));
        sorted[sorted.len() - 1]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![3.0, 1.0, 3.0], vec![1.0, f64::NAN, 3.0], vec![f64::NEG_INFINITY; 2]]
    }
}
