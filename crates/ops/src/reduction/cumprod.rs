//! cumprod - running product along an axis.   y[t] = x[0] .. x[t],   dy[t] = x[t] dy[t-1] + y[t-1] dx[t].   A linear recurrence; its
//! transpose runs from the end. Exact to every order with any number of zeros, because it does not divide.

use crate::prelude::*;
use crate::rules::{as_given, batched_axis, line_cases, middle_axis, row_and_axis};
use wengert_kernels::scan;

/// The methods of `cumprod`.
#[ext(CumprodMethods)]
impl Tensor {
    /// The running product of the elements along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, 3.0, 4.0]).cumprod(0), Tensor::from([2.0, 6.0, 24.0]));
    /// ```
    #[track_caller]
    pub fn cumprod(&self, axis: isize) -> Tensor {
        let (row, axis) = row_and_axis("cumprod", self, axis);
        as_given(self, row.cumprod_from(axis, false))
    }
}

#[ext(CumprodParts)]
impl Tensor {
    /// The running product from the start to each element, or from the end.
    #[track_caller]
    pub(crate) fn cumprod_from(&self, axis: usize, reverse: bool) -> Tensor {
        let attrs = Attrs::new().with_int("axis", axis as i64).with_int("reverse", i64::from(reverse));
        bind1(&CUMPROD, attrs, &[self])
    }
}

/// The primitive `cumprod`.
pub static CUMPROD: CumProd = CumProd;

/// See the module.
pub struct CumProd;

impl Primitive for CumProd {
    fn name(&self) -> &'static str {
        "cumprod"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axis", "reverse"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_arithmetic("cumprod", operands[0].dtype)?;
        middle_axis("cumprod", attrs, operands[0].shape)?;
        Ok(smallvec![operands[0].to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, out) = (operands[0], outputs[0].reborrow());
        let (shape, reverse) = (middle_axis("cumprod", attrs, x.shape)?, attrs.int("reverse") == 1);
        computing!(x.dtype, T => fill(out, |out: &mut [T]| scan::cumprod(&numbers(x), shape, reverse, out)));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(0).output(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let (axis, reverse) = (rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1);
        // h[t] = g[t] + x[t+1] h[t+1]: the cotangent of the product up to t, including all later factors.
        let later = rule.operand(0).delayed(axis, !reverse, 0.0).linear_scan_from(&g, axis, !reverse);
        smallvec![Gradient::Dense(rule.output(0).delayed(axis, reverse, 1.0) * later)]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let (axis, reverse) = (rule.attrs.axis("axis"), rule.attrs.int("reverse") == 1);
        let (x, before) = (rule.operand(0), rule.output(0).delayed(axis, reverse, 1.0));
        smallvec![tangents[0].as_ref().map(|dx| x.linear_scan_from(&(before * dx), axis, reverse))]
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
        "dx[t] = y[t-1] h[t] with h[t] = dy[t] + x[t+1] h[t+1]"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let running = |x: &[&[f64]]| (0..x[0].len()).map(|t| x[0][..=t].iter().rev().product()).collect();
        line_cases(1, running, &[&[2.0, 0.0, 3.0, 0.0, 1.0]])
    }
}
