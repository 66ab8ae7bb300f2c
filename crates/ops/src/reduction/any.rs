//! any - whether some element over axes is nonzero.   y = or of (x is not 0) over the axes.   No derivative. NaN is nonzero; for no
//! elements, false.

use crate::prelude::*;
use wengert_kernels::extremes;

/// The methods of `any`.
#[ext(AnyMethods)]
impl Tensor {
    /// Whether any element is nonzero, or true.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([0.0, 2.0]).any(), Tensor::from(true));
    /// ```
    #[track_caller]
    pub fn any(&self /* of some axes: any_over(axes) */) -> Tensor {
        ANY.over(self, .., Attrs::new())
    }

    /// Whether any element over some axes is nonzero.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[0i64, 2], [0, 0]]).any_over(1), Tensor::from([true, false]));
    /// assert_eq!(Tensor::from([[false, true]]).any_over(keepdim(1)), Tensor::from([[true]]));
    /// ```
    #[track_caller]
    pub fn any_over(&self, axes: impl Into<Over>) -> Tensor {
        ANY.over(self, axes, Attrs::new())
    }
}

/// The primitive `any`.
pub static ANY: ReductionOp<Any> = ReductionOp::NEW;

/// See the module.
pub struct Any;

/// Applies the kernel for the dtype; booleans and bytes are read without conversion.
macro_rules! decide {
    ($kernel:path, $x:expr, $axes:expr, $out:expr) => {{
        let (layout, shape) = arranged($x, $axes);
        let x = Laid::packed(layout.over($x));
        match (x.view().dtype, x.view().contiguous_bytes()) {
            (DType::Bool | DType::U8, Some(bytes)) => $kernel(bytes, shape, $out.bytes),
            (dtype, _) => computing!(dtype, T => $kernel(&numbers::<T>(x.view())[..], shape, $out.bytes)),
        }
    }};
}
pub(super) use decide;

impl Reduction for Any {
    const NAME: &'static str = "any";
    const DIFFERENTIABLE: bool = false;

    fn dtype(_x: DType) -> Result<DType, Error> {
        Ok(DType::Bool)
    }

    fn run(_attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        decide!(extremes::any, x, axes, out);
    }

    fn reference(_attrs: &Attrs, elements: &[f64]) -> f64 {
        f64::from(elements.iter().filter(|x| **x != 0.0).count() > 0)
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![0.0, -0.0], vec![0.0, f64::NAN]]
    }
}
