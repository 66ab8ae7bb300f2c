//! logcumsumexp - running logarithm of the sum of exponentials.   y[t] = log(e^x[0] + .. + e^x[t]),   dy[t] = e^(y[t-1] - y[t])
//! dy[t-1] + e^(x[t] - y[t]) dx[t].   No exponent is positive, so nothing overflows, not even in derivatives. Leading minus infinities have
//! gradient 0.

use crate::prelude::*;
use crate::rules::{as_given, batched_axis, line_cases, middle_axis, row_and_axis};
use wengert_kernels::scan;

/// The methods of `logcumsumexp`.
#[ext(LogcumsumexpMethods)]
impl Tensor {
    /// `log(e^x[0] + .. + e^x[t])` for every position t along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([500.0, 500.0]).logcumsumexp(0);
    /// assert!(y.all_close(&Tensor::from([500.0, 500.0 + 2f64.ln()]), 1e-14));
    /// ```
    #[track_caller]
    pub fn logcumsumexp(&self, axis: isize) -> Tensor {
        let (row, axis) = row_and_axis("logcumsumexp", self, axis);
        let attrs = Attrs::new().with_int("axis", axis as i64).with_int("reverse", 0);
        as_given(self, bind1(&LOGCUMSUMEXP, attrs, &[&row]))
    }
}

/// The primitive `logcumsumexp`.
pub static LOGCUMSUMEXP: LogCumSumExp = LogCumSumExp;

/// See the module.
pub struct LogCumSumExp;

/// The factors of the recurrence: for the previous value, and for the new element.
fn shares(rule: &Rule<'_>) -> (Tensor, Tensor) {
    let (x, y) = (rule.operand(0), rule.output(0));
    let finite = y.equal(f64::NEG_INFINITY).where_(0.0, y);
    let before = y.delayed(rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1, f64::NEG_INFINITY);
    ((before - &finite).exp(), (x - finite).exp())
}

impl Primitive for LogCumSumExp {
    fn name(&self) -> &'static str {
        "logcumsumexp"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis", "reverse"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_float("logcumsumexp", operands[0].dtype)?;
        middle_axis("logcumsumexp", attrs, operands[0].shape)?;
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, out) = (operands[0], outputs[0].reborrow());
        let (shape, reverse) = (middle_axis("logcumsumexp", attrs, x.shape)?, attrs.int("reverse") == 1);
        computing_float!(x.dtype, T => fill(out, |out: &mut [T]| scan::logcumsumexp(&numbers(x), shape, reverse, out)));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(0).output(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (axis, reverse) = (rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1);
        let (before, new) = shares(rule);
        smallvec![Gradient::Dense(new * before.delayed(axis, !reverse, 0.0).linear_scan_from(&g, axis, !reverse))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let (axis, reverse) = (rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1);
        let (before, new) = shares(rule);
        smallvec![tangents[0].as_ref().map(|dx| before.linear_scan_from(&(new * dx), axis, reverse))]
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        Ok(smallvec![bind1(self, batched_axis(attrs), &[&operands[0]])])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Reduction
    }

    fn rule_text(&self) -> &'static str {
        "dx[t] = e^(x[t] - y[t]) h[t] with h[t] = dy[t] + e^(y[t] - y[t+1]) h[t+1]"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let running =
            |x: &[&[f64]]| (0..x[0].len()).map(|t| x[0][..=t].iter().map(|x| x.exp()).sum::<f64>().ln()).collect();
        let infinities = &[f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY, 2.0];
        line_cases(1, running, &[infinities])
    }
}
