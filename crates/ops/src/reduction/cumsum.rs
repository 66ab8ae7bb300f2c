//! cumsum - running sum along an axis.   y[t] = x[0] + .. + x[t],   dy likewise.   Its transpose runs from the end. f32 accumulates in f64;
//! integers wrap around.

use crate::prelude::*;
use crate::rules::{as_given, batched_axis, line_cases, middle_axis, row_and_axis};
use wengert_kernels::scan;

/// The methods of `cumsum`.
#[ext(CumsumMethods)]
impl Tensor {
    /// The running sum of the elements along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0]).cumsum(0), Tensor::from([1.0, 3.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn cumsum(&self, axis: isize) -> Tensor {
        let (row, axis) = row_and_axis("cumsum", self, axis);
        as_given(self, bind1(&CUMSUM, attrs(axis, false), &[&row]))
    }
}

fn attrs(axis: usize, reverse: bool) -> Attrs {
    Attrs::new().with_int("axis", axis as i64).with_int("reverse", i64::from(reverse))
}

/// The primitive `cumsum`.
pub static CUMSUM: LinearOp<CumSum> = LinearOp::NEW;

/// See the module.
pub struct CumSum;

impl Linear for CumSum {
    const NAME: &'static str = "cumsum";
    const ATTRIBUTES: &'static [&'static str] = &["axis", "reverse"];
    const RULE: &'static str = "dx = cumsum of dy from the other end";
    const DEPENDENCY: Dependency = Dependency::Reduction;

    fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
        expect_arithmetic("cumsum", x.dtype)?;
        middle_axis("cumsum", attrs, x.shape)?;
        Ok(x.to_spec())
    }

    fn run(attrs: &Attrs, x: View<'_>, out: Out<'_>) -> Result<(), Error> {
        let (shape, reverse) = (middle_axis("cumsum", attrs, x.shape)?, attrs.int("reverse") == 1);
        computing!(x.dtype, T => fill(out, |out: &mut [T]| scan::cumsum(&numbers(x), shape, reverse, out)));
        Ok(())
    }

    fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
        let reverse = rule.attrs.int("reverse") == 0;
        Gradient::Dense(bind1(&CUMSUM, attrs(rule.attrs.axis("axis"), reverse), &[&g]))
    }

    fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
        bind1(op, batched_axis(attrs), &[x])
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let running = |x: &[&[f64]]| (0..x[0].len()).map(|t| x[0][..=t].iter().rev().sum()).collect();
        line_cases(1, running, &[])
    }
}
