//! Applies a transform to one step of a body, on tensors of any level.

use super::{pick, places};
use crate::error::OrRaise;
use crate::program::Program;
use crate::{Tensor, jvp, vjp, vmap};
use std::cell::RefCell;

fn evaluate(body: &Program, inputs: &[Tensor], places: &[usize], others: &[Tensor]) -> Vec<Tensor> {
    let mut all = inputs.to_vec();
    for (&place, other) in places.iter().zip(others) {
        all[place] = other.clone();
    }
    body.evaluate(&all).or_raise()
}

/// The outputs, and the tangents of those marked in `reached`, given tangents of the inputs marked in `active`.
pub fn push(
    body: &Program,
    inputs: &[Tensor],
    active: &[bool],
    tangents: &[Tensor],
    reached: &[bool],
) -> (Vec<Tensor>, Vec<Tensor>) {
    let active = places(active);
    let step = |x: &Vec<Tensor>| evaluate(body, inputs, &active, x);
    let (outputs, derived) = jvp(step, &pick(inputs, &active), &tangents.to_vec());
    let derived = pick(&derived, &places(reached));
    (outputs, derived)
}

/// The outputs, and the cotangents of the inputs marked in `active`, given cotangents of the outputs marked in `reached`.
pub fn pull(
    body: &Program,
    inputs: &[Tensor],
    active: &[bool],
    cotangents: &[Tensor],
    reached: &[bool],
) -> (Vec<Tensor>, Vec<Tensor>) {
    let active = places(active);
    let step = |x: &Vec<Tensor>| evaluate(body, inputs, &active, x);
    let (outputs, pullback) = vjp(step, &pick(inputs, &active));
    let mut seeds: Vec<Tensor> = outputs.iter().map(|output| output.full_like(0.0)).collect();
    for (place, cotangent) in places(reached).into_iter().zip(cotangents) {
        seeds[place] = cotangent.clone();
    }
    let gradients = pullback.call(&seeds);
    (outputs, gradients)
}

/// The outputs for inputs that have a leading batch axis where `batched` is true; outputs marked in `reached` have it too, and no others
/// depend on the batch.
pub fn map(body: &Program, inputs: &[Tensor], size: usize, batched: &[bool], reached: &[bool]) -> Vec<Tensor> {
    let (batched, reached) = (places(batched), places(reached));
    if batched.is_empty() {
        let mut outputs = evaluate(body, inputs, &[], &[]);
        for place in reached {
            outputs[place] = spread(&outputs[place], size);
        }
        return outputs;
    }
    let same: RefCell<Vec<Tensor>> = RefCell::default();
    let mapped = vmap(|x: &Vec<Tensor>| {
        let outputs = evaluate(body, inputs, &batched, x);
        let chosen = pick(&outputs, &reached);
        same.replace(outputs);
        chosen
    })(&pick(inputs, &batched));
    let mut outputs = same.into_inner();
    for (place, mapped) in reached.into_iter().zip(mapped) {
        outputs[place] = mapped;
    }
    outputs
}

/// The same tensor for every element of a batch.
pub fn spread(tensor: &Tensor, size: usize) -> Tensor {
    tensor.broadcast_to(crate::Shape::from(tensor.shape()).prepended(size))
}
