//! What a call does with numbers: look at them, or run the kernel on views of them.

use super::{Attrs, Layout, Out, Outputs, Primitive, Spec, SpecRef, View, missing_rule};
use crate::tensor::Value;
use crate::{Error, Tensor};
use smallvec::{SmallVec, smallvec};
use wengert_kernels::map::copy;

/// The numbers of a tensor as kernels see them; none of a tensor inside a transform.
///
/// ```
/// use wengert::{prelude::*, primitive::view_of};
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(view_of(&x.t()).unwrap().at_linear::<f64>(1), 3.0);
/// ```
pub fn view_of(tensor: &Tensor) -> Option<View<'_>> {
    match &tensor.value {
        Value::Tracer(_) => None,
        value => Some(value.view()),
    }
}

/// Looks at the operand, or runs the kernel in new memory.
pub fn evaluate<P: Primitive + ?Sized>(
    op: &P,
    attrs: &Attrs,
    operands: &[&Tensor],
    outputs: &[Spec],
) -> Result<Outputs, Error> {
    let view = |layout: &Layout, output: &Spec| op.view(attrs, layout, output);
    let run = |views: &[View<'_>], outputs: &mut [Out<'_>]| op.run(attrs, views, outputs);
    viewed_or_run(op.name(), &view, &run, operands, outputs)
}

/// One copy for all primitives: with a type parameter there would be one for each.
fn viewed_or_run(
    name: &str,
    view: &dyn Fn(&Layout, &Spec) -> Option<Layout>,
    run: &dyn Fn(&[View<'_>], &mut [Out<'_>]) -> Result<bool, Error>,
    operands: &[&Tensor],
    outputs: &[Spec],
) -> Result<Outputs, Error> {
    if let ([x], [output]) = (operands, outputs)
        && let Some(viewed) = x.viewed(|layout| view(layout, output))
    {
        return Ok(smallvec![viewed]);
    }
    let views: SmallVec<[View<'_>; 4]> = operands.iter().map(|operand| operand.value.view()).collect();
    let (results, done) = Tensor::build_all(outputs, |outputs| run(&views, outputs));
    match done? {
        true => Ok(results),
        false => Err(missing_rule(name, "run", "evaluated")),
    }
}

/// Copies what a call looks at; `false` if it is no view of its only operand.
pub fn copy_viewed<P: Primitive + ?Sized>(
    op: &P,
    attrs: &Attrs,
    operands: &[View<'_>],
    outputs: &mut [Out<'_>],
) -> Result<bool, Error> {
    let ([x], [out]) = (operands, outputs) else { return Ok(false) };
    let specs = op.infer(attrs, &[SpecRef { shape: x.shape, dtype: x.dtype }])?;
    let Some(layout) = op.view(attrs, &Layout::of(*x), &specs[0]) else { return Ok(false) };
    copy(layout.over(*x), out.reborrow());
    Ok(true)
}
