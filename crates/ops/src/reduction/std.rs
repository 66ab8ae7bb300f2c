//! std - standard deviation over axes.   y = sqrt(sum of (x - mean)^2 / (n - correction)),   dy = sum of (x - mean) dx / (y
//! (n - correction)).   The usual correction is 1. At equal elements the gradient is the subgradient of least norm, 0, and the second
//! derivative is NaN; but that of y^2 is exact.

use super::var::{Var, freedom, spread, squares};
use crate::prelude::*;
use crate::rules::formula::tensor::kinked;

/// The methods of `std`.
#[ext(StdMethods)]
impl Tensor {
    /// The standard deviation of all elements, with correction 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0, 5.0]).std().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn std(&self /* of some axes: std_over(axes) */) -> Tensor {
        STD.over(self, .., Attrs::new().with_real("correction", 1.0))
    }

    /// The standard deviation over some axes, with correction 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 3.0, 5.0], [4.0, 4.0, 4.0]]).std_over(1), Tensor::from([2.0, 0.0]));
    /// assert_eq!(Tensor::from([[1.0, 3.0, 5.0]]).std_over(keepdim(1)), Tensor::from([[2.0]]));
    /// ```
    #[track_caller]
    pub fn std_over(&self, axes: impl Into<Over>) -> Tensor {
        self.std_corrected(axes, 1.0)
    }

    /// The standard deviation over some axes, with another correction.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 5.0]).std_corrected(0, 0.0).item(), 2.0);
    /// assert_eq!(Tensor::from([1.0, 5.0]).std_corrected(keepdim(0), 0.0), Tensor::from([2.0]));
    /// ```
    #[track_caller]
    pub fn std_corrected(&self, axes: impl Into<Over>, correction: f64) -> Tensor {
        STD.over(self, axes, Attrs::new().with_real("correction", correction))
    }
}

/// The primitive `std`.
pub static STD: ReductionOp<Std> = ReductionOp::NEW;

/// See the module.
pub struct Std;

impl Reduction for Std {
    const NAME: &'static str = "std";
    const ATTRIBUTES: &'static [&'static str] = &["axes", "correction"];
    const RULE: &'static str = "dx = dy (x - mean) / (y (n - correction)), 0 where y is 0";
    const FLOPS: f64 = 4.0;
    const READS_OUTPUT: bool = true;

    fn run(attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        spread(attrs, x, axes, out, f64::sqrt);
    }

    fn slope(call: &Reduced<'_>) -> Tensor {
        let centred = centred(call);
        kinked_if_several(call, &centred, &centred * inverse(call))
    }

    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        let centred = centred(call);
        kinked_if_several(call, &centred, &centred * (inverse(call) * g))
    }

    fn pull_of_square(_attrs: &Attrs) -> Option<fn(&Reduced<'_>, Tensor) -> Tensor> {
        Some(|call, g| Var::pull(call, g * call.if_finite(1.0)))
    }

    fn reference(attrs: &Attrs, elements: &[f64]) -> f64 {
        (squares(elements) / freedom(attrs, elements.len())).sqrt()
    }

    fn tried() -> Vec<Attrs> {
        vec![Attrs::new().with_real("correction", 0.0), Attrs::new().with_real("correction", 1.3)]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0; 3], vec![1.0, f64::NAN]]
    }
}

/// The deviation of one element is always 0; for several elements, 0 is a kink.
fn kinked_if_several(call: &Reduced<'_>, centred: &Tensor, smooth: Tensor) -> Tensor {
    if call.count() > 1 { kinked(&call.y().equal(0.0), centred, smooth) } else { smooth }
}

fn centred(call: &Reduced<'_>) -> Tensor {
    let x = call.x();
    x - call.mean(x)
}

/// 1 / (y (n - correction)), 0 where y is 0.
fn inverse(call: &Reduced<'_>) -> Tensor {
    let y = call.y();
    let zero = y.equal(0.0);
    let safe = zero.where_(1.0, &y);
    zero.where_(0.0, 1.0 / (safe * freedom(call.attrs(), call.count())))
}
