//! logsumexp - logarithm of the sum of exponentials over axes.   y = log sum of e^x,   dy = sum of e^(x - y) dx.   Finite for any finite x:
//! the largest element is factored out first. For no elements, or only minus infinities, it is minus infinity with gradient 0.

use crate::prelude::*;
use wengert_kernels::rows;

/// The methods of `logsumexp`.
#[ext(LogsumexpMethods)]
impl Tensor {
    /// log(sum of e^x) over all elements, without overflow.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1000.0]]).logsumexp().item(), 1000.0);
    /// ```
    #[track_caller]
    pub fn logsumexp(&self /* of some axes: logsumexp_over(axes) */) -> Tensor {
        LOGSUMEXP.over(self, .., Attrs::new())
    }

    /// log(sum of e^x) over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1000.0, 1000.0]);
    /// assert!((x.logsumexp_over(0).item() - (1000.0 + 2f64.ln())).abs() < 1e-12);
    /// assert_eq!(Tensor::from([[7.0]]).logsumexp_over(keepdim(1)), Tensor::from([[7.0]]));
    /// ```
    #[track_caller]
    pub fn logsumexp_over(&self, axes: impl Into<Over>) -> Tensor {
        LOGSUMEXP.over(self, axes, Attrs::new())
    }
}

/// The primitive `logsumexp`.
pub static LOGSUMEXP: ReductionOp<LogSumExp> = ReductionOp::NEW;

/// See the module.
pub struct LogSumExp;

impl Reduction for LogSumExp {
    const NAME: &'static str = "logsumexp";
    const RULE: &'static str = "dx = dy e^(x - y)";
    const FLOPS: f64 = 4.0;
    const READS_OUTPUT: bool = true;

    fn run(_attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        let (layout, [_, n, _]) = rows_last(x, axes);
        computing_float!(out.dtype, T => {
            fill(out, |out: &mut [T]| rows::logsumexp(&numbers(layout.over(x)), n, out));
        });
    }

    fn slope(call: &Reduced<'_>) -> Tensor {
        let y = call.y();
        (call.x() - y.equal(f64::NEG_INFINITY).where_(0.0, &y)).exp()
    }

    /// One fused kernel for plain values whose rows lie along the last axes.
    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        let (x, y) = (call.x(), call.y());
        let last = (x.rank() - call.axes.rank()..x.rank()).eq(call.axes.iter().copied());
        let n = call.count();
        if !last || n == 0 || !(g.is_at_hand() && x.is_at_hand() && y.is_at_hand()) {
            return Self::slope(call) * g;
        }
        computing_float!(x.dtype(), T => {
            let [x_row, y, g] = [x, &y, &g].map(|tensor| numbers::<T>(tensor.value.view()));
            let gradient = |dx: &mut [T]| rows::logsumexp_gradient(&x_row, &y, &g, n, dx);
            Tensor::build(&x.spec(), |out| fill(out, gradient)).0
        })
    }

    fn reference(_attrs: &Attrs, elements: &[f64]) -> f64 {
        elements.iter().map(|x| x.exp()).sum::<f64>().ln()
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![f64::NEG_INFINITY; 2], vec![1.0, f64::NEG_INFINITY], vec![1.0, f64::INFINITY], vec![f64::NAN, 0.0]]
    }
}
