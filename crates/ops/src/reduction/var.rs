//! var - variance over axes.   y = sum of (x - mean)^2 / (n - correction),   dy = sum of 2 (x - mean) dx / (n - correction).   The usual
//! correction is 1. Two passes, so a mean that is large compared with the spread loses no digits. NaN unless n exceeds the correction.

use crate::prelude::*;
use wengert_kernels::Compute;
use wengert_kernels::rows;

/// The methods of `var`.
#[ext(VarMethods)]
impl Tensor {
    /// The variance of all elements, with correction 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 6.0]).var().item(), 7.0);
    /// ```
    #[track_caller]
    pub fn var(&self /* of some axes: var_over(axes) */) -> Tensor {
        VAR.over(self, .., Attrs::new().with_real("correction", 1.0))
    }

    /// The variance over some axes, with correction 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 3.0], [5.0, 5.0]]).var_over(1), Tensor::from([2.0, 0.0]));
    /// assert_eq!(Tensor::from([[1.0, 3.0], [5.0, 5.0]]).var_over(keepdim(1)), Tensor::from([[2.0], [0.0]]));
    /// ```
    #[track_caller]
    pub fn var_over(&self, axes: impl Into<Over>) -> Tensor {
        self.var_corrected(axes, 1.0)
    }

    /// The sum of squared deviations from the mean divided by `n - correction`, over some axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0]).var_corrected(0, 0.0).item(), 1.0);
    /// assert_eq!(Tensor::from([1.0, 3.0]).var_corrected(keepdim(0), 0.0), Tensor::from([1.0]));
    /// ```
    #[track_caller]
    pub fn var_corrected(&self, axes: impl Into<Over>, correction: f64) -> Tensor {
        VAR.over(self, axes, Attrs::new().with_real("correction", correction))
    }
}

/// The primitive `var`.
pub static VAR: ReductionOp<Var> = ReductionOp::NEW;

/// See the module.
pub struct Var;

/// The divisor of sums of squares.
pub(super) fn freedom(attrs: &Attrs, count: usize) -> f64 {
    (count as f64 - attrs.real("correction")).max(0.0)
}

/// `finish(variance with correction 0, factor that corrects it)` of every row.
pub(super) fn spread(attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>, finish: fn(f64) -> f64) {
    let (layout, [outer, n, _]) = rows_last(x, axes);
    let factor = n as f64 / freedom(attrs, n);
    computing_float!(out.dtype, T => fill(out, |out: &mut [T]| {
        rows::mean_variance(&numbers(layout.over(x)), n, &mut Buffer::new(outer), out);
        out.iter_mut().for_each(|y| *y = T::from_f64(finish(y.to_f64() * factor)));
    }));
}

/// The squared deviations from all pairs: sum over i, j of (x_i - x_j)^2 / (2 n).
pub(super) fn squares(elements: &[f64]) -> f64 {
    let pairs = elements.iter().flat_map(|a| elements.iter().map(move |b| (a - b) * (a - b)));
    pairs.sum::<f64>() / (2.0 * elements.len() as f64)
}

impl Reduction for Var {
    const NAME: &'static str = "var";
    const ATTRIBUTES: &'static [&'static str] = &["axes", "correction"];
    const RULE: &'static str = "dx = 2 dy (x - mean) / (n - correction)";
    const FLOPS: f64 = 4.0;

    fn run(attrs: &Attrs, x: View<'_>, axes: &[usize], out: Out<'_>) {
        spread(attrs, x, axes, out, |variance| variance);
    }

    fn slope(call: &Reduced<'_>) -> Tensor {
        let x = call.x();
        (x - call.mean(x)) * (2.0 / freedom(call.attrs(), call.count()))
    }

    fn pull(call: &Reduced<'_>, g: Tensor) -> Tensor {
        let x = call.x();
        (x - call.mean(x)) * (g * (2.0 / freedom(call.attrs(), call.count())))
    }

    fn reference(attrs: &Attrs, elements: &[f64]) -> f64 {
        squares(elements) / freedom(attrs, elements.len())
    }

    fn tried() -> Vec<Attrs> {
        vec![Attrs::new().with_real("correction", 0.0), Attrs::new().with_real("correction", 1.3)]
    }

    fn edges() -> Vec<Vec<f64>> {
        vec![vec![2.0; 3], vec![1.0, f64::NAN]]
    }
}
