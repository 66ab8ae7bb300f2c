//! norm - p-norm over axes.   y = (sum of |x|^p)^(1/p),   dy = sum of sign(x) (|x| / y)^(p - 1) dx.   Any p: 1, infinities and 0 (the
//! number of nonzero elements) are composites. Where y is 0, and at zeros for p below 1, the gradient is 0 and the second derivative NaN;
//! but that of y^2 for p = 2 is exact. No intermediate result overflows.

use crate::prelude::*;
use crate::rules::formula::tensor::kinked;
use wengert_kernels::rows;

/// The methods of `norm`.
#[ext(NormMethods)]
impl Tensor {
    /// The p-norm of all elements as one vector; p = 2 is the Euclidean norm.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([3.0, -4.0]);
    /// assert_eq!(x.norm(2.0).item(), 5.0);
    /// assert_eq!(x.norm(1.0).item(), 7.0);
    /// assert_eq!(x.norm(f64::INFINITY).item(), 4.0);
    /// assert_eq!(grad(|x: &Tensor| x.norm(2.0))(&Tensor::zeros([2])), Tensor::zeros([2]));
    /// ```
    #[track_caller]
    pub fn norm(&self, p: f64) -> Tensor {
        self.norm_over(p, ..)
    }

    /// The p-norm over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[3.0, -4.0], [0.0, 2.0]]).norm_over(2.0, 1), Tensor::from([5.0, 2.0]));
    /// assert_eq!(Tensor::from([[3.0, -4.0]]).norm_over(2.0, keepdim(1)), Tensor::from([[5.0]]));
    /// ```
    #[track_caller]
    pub fn norm_over(&self, p: f64, axes: impl Into<Over>) -> Tensor {
        match p {
            0.0 => self.not_equal(0.0).cast(self.dtype()).sum_over(axes),
            1.0 => self.abs().sum_over(axes),
            f64::INFINITY => self.abs().max_over(axes),
            f64::NEG_INFINITY => self.abs().min_over(axes),
            _ => NORM.over(self, axes, Attrs::new().with_real("p", p)),
        }
    }
}

/// The primitive `norm`.
pub static NORM: ReductionOp<Norm> = ReductionOp::NEW;

/// See the module.
pub struct Norm;

impl Reduction for Norm {
    const NAME: &'static str = "norm";
    const ATTRIBUTES: &'static [&'static str] = &["axes", "p"];
    const RULE: &'static str = "dx = dy sign(x) (|x| / y)^(p - 1), 0 where y is 0";
    const FLOPS: f64 = 2.0;
    const READS_OUTPUT: bool = true;

    fn run(attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        let (layout, [_, n, _]) = rows_last(x, axes);
        computing_float!(out.dtype, T => {
            fill(out, |out: &mut [T]| rows::p_norm(&numbers(layout.over(x)), n, attrs.real("p"), out));
        });
    }

    fn slope(call: &Reduced<'_>) -> Tensor {
        pulled(call, &call.y().full_like(1.0))
    }

    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        pulled(call, &g)
    }

    fn pull_of_square(attrs: &Attrs) -> Option<fn(&Reduced<'_>, Tensor) -> Tensor> {
        (attrs.real("p") == 2.0).then_some(|call, g| call.x() * (g * call.if_finite(2.0)))
    }

    fn reference(attrs: &Attrs, elements: &[f64]) -> f64 {
        let p = attrs.real("p");
        elements.iter().map(|x| x.abs().powf(p)).sum::<f64>().powf(1.0 / p)
    }

    fn tried() -> Vec<Attrs> {
        [2.0, 3.0, 2.5, -1.5, 0.5].map(|p| Attrs::new().with_real("p", p)).into()
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![0.0, -0.0], vec![0.0, 5.0], vec![f64::INFINITY, 1.0]]
    }
}

/// dy sign(x) (|x| / y)^(p - 1), with the derivatives of a kink where it is 0 only because y or x is 0.
fn pulled(call: &Reduced<'_>, g: &Tensor) -> Tensor {
    let (x, y, p) = (call.x(), call.y(), call.attrs().real("p"));
    let zero = y.equal(0.0);
    let safe = zero.where_(1.0, &y);
    if p == 2.0 {
        return kinked(&zero, x, x * zero.where_(0.0, g / safe));
    }
    let at_zero = x.equal(0.0);
    let ratio = at_zero.where_(1.0, x.abs() / safe);
    let smooth = zero.where_(0.0, at_zero.where_(0.0, x.sign() * (ratio.log() * (p - 1.0)).exp()));
    // For powers below 2, every 0 is a kink of the slope.
    kinked(if p < 2.0 { &at_zero } else { &zero }, x, smooth * g)
}
