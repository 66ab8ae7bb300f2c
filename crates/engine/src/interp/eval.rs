//! Evaluation: run the kernel.

use crate::primitive::{Attrs, Outputs, Primitive, SpecRef};
use crate::tensor::Value;
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;

fn specs<'a>(operands: &[&'a Tensor]) -> SmallVec<[SpecRef<'a>; 4]> {
    operands.iter().map(|operand| operand.value.spec_ref()).collect()
}

/// The outputs, without a place in any graph.
#[inline]
pub(super) fn apply(op: &'static dyn Primitive, attrs: &Attrs, operands: &[&Tensor]) -> Result<Outputs, Error> {
    let expected = op.infer(attrs, &specs(operands))?;
    let device = operands.first().map_or_else(Default::default, |operand| operand.device());
    let mut outputs = op.eval(device, attrs, operands, &expected)?;
    for output in &mut outputs {
        // A user's kernel may have computed with recorded tensors; its outputs are values all the same.
        (output.link, output.slot) = (None, None);
    }
    debug_assert!(
        outputs.iter().map(Tensor::spec).eq(expected.iter().cloned()),
        "{}: the kernel's outputs {outputs:?} are not what the shape rule says: {expected:?}",
        op.name()
    );
    Ok(outputs)
}

/// The output written over `target` where nobody else can see that, otherwise a new one.
pub(super) fn apply_in_place(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    mut target: Tensor,
    rest: &[&Tensor],
) -> Result<Tensor, Error> {
    let expected = {
        let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
        op.infer(attrs, &specs(&operands))?
    };
    let fits = expected.len() == 1 && expected[0].shape[..] == *target.shape() && expected[0].dtype == target.dtype();
    if fits && is_writable(&mut target) && op.eval_in_place(attrs, &mut target, rest)? {
        return Ok(target);
    }
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&target).chain(rest.iter().copied()).collect();
    Ok(op.eval(target.device(), attrs, &operands, &expected)?.pop().expect("one output"))
}

/// Unique memory in row-major order: a write through it is seen by nobody else.
fn is_writable(target: &mut Tensor) -> bool {
    match &mut target.value {
        Value::Array(array) => match Arc::get_mut(array) {
            Some(array) => array.block.is_unique() && array.layout.offset == 0 && array.layout.is_contiguous(),
            None => false,
        },
        _ => false,
    }
}
