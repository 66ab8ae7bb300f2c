//! Steps and branches that only some elements of a batch take. All elements are computed together. An inactive element gets the inputs of
//! an active one, so that it cannot cause additional errors or special values; its result is ignored.

use super::{stacked, through};
use crate::methods::*;
use crate::primitive::{Dependency, Jet, Primitive, Spec};
use crate::program::Program;
use crate::rules::Elementwise;
use crate::{DType, Shape, Tensor};

/// Rows of `a` where `mask` holds, of `b` elsewhere.
pub fn chosen_rows(mask: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
    let ones = mask.shape().iter().copied().chain(std::iter::repeat_n(1, a.rank() - mask.rank()));
    mask.reshape(ones.collect::<Shape>()).broadcast_to(a.shape()).where_(a, b)
}

/// The specs of inputs; those marked in `batched` get a leading batch axis of `size`.
pub fn batched_specs(specs: Vec<Spec>, size: usize, batched: &[bool]) -> Vec<Spec> {
    specs.into_iter().zip(batched).map(|(spec, batched)| if *batched { stacked(&spec, size) } else { spec }).collect()
}

/// [`through::map`] for a program whose outputs only matter for the elements marked in `mask`; there is at least one.
pub fn map(program: &Program, mask: &Tensor, inputs: &[Tensor], batched: &[bool], reached: &[bool]) -> Vec<Tensor> {
    let size = mask.shape()[0];
    if size == 0 || is_calm(program) {
        return through::map(program, inputs, size, batched, reached);
    }
    let first = mask.cast(DType::I64).argmax().reshape([1]);
    let instead = |(input, batched): (&Tensor, &bool)| match batched {
        true => {
            let row = input.index_select(0, &first).detach().broadcast_to(input.shape());
            chosen_rows(mask, input, &row)
        }
        false => input.clone(),
    };
    let inputs: Vec<Tensor> = inputs.iter().zip(batched).map(instead).collect();
    through::map(program, &inputs, size, batched, reached)
}

/// A step of a loop for the elements marked in `mask`; the carry, at the end of the inputs, stays unchanged for all others.
pub fn step(body: &Program, mask: &Tensor, inputs: &[Tensor], batched: &[bool], carry: &[bool]) -> Vec<Tensor> {
    let next = map(body, mask, inputs, batched, carry);
    let now = &inputs[inputs.len() - next.len()..];
    next.iter().zip(now).map(|(next, now)| chosen_rows(mask, next, now)).collect()
}

/// Whether a program cannot fail, and a zero cotangent stays zero through it for all values.
pub fn is_calm(program: &Program) -> bool {
    program.equations().iter().all(|equation| is_calm_call(equation.op))
}

/// Slopes of elementwise operations are guarded (`guarded_mul`), and operations that only move and add elements have none.
fn is_calm_call(op: &'static dyn Primitive) -> bool {
    let dependency = op.dependency();
    let moves = matches!(dependency, Dependency::Movement | Dependency::Reduction | Dependency::Accumulation);
    Elementwise::of(op).is_some()
        || dependency == Dependency::Elementwise
        || (moves && op.jet() == Jet::Linear && op.operands() == 1)
}
