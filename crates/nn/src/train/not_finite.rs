//! Why a loss or a gradient is not finite.

use super::step::{Loss, Precision, Rules};
use crate::optimise::Optimiser;
use crate::prelude::*;

/// The error of a loss that is not finite: it names a parameter, a number of the batch, or the first operation with such a result.
pub(super) fn loss_error<M: Tree, B: Tree, O: Optimiser>(
    error: Error,
    value: f64,
    rules: &Rules<O>,
    loss: Loss<'_, M, B>,
    (model, batch, key): (&M, &B, &Key),
) -> Error {
    if let Some((name, ..)) = first_of(model) {
        return error
            .and(&format!("; the parameter `{name}` was not finite before it"))
            .help("a smaller rate or clip_norm may keep it finite");
    }
    if let Some((name, position, found)) = first_of(batch) {
        let name = if name.is_empty() { name } else { format!("leaf `{name}` of ") };
        return error
            .and(&format!("; {name}the batch has {found} at {position:?}"))
            .help("the data must be finite: leave out such examples, or replace their numbers");
    }
    if value.is_nan()
        && let Err(first) = catch(|| detect_anomaly(|| rules.loss(loss, model, batch, key)))
    {
        let line = first.line();
        let error = error.and(&format!("; first: {}: {}", first.operation(), first.message()));
        return line.into_iter().fold(error.help_of(&first), Error::at);
    }
    let function = |(model, batch, key): &(M, B, Key)| rules.loss(loss, model, batch, key).0;
    let input = (model.map_leaves(Tensor::clone), batch.map_leaves(Tensor::clone), key.clone());
    let run = catch(|| compile(function).debug().run(&input)).ok();
    let first = run.as_ref().and_then(|run| run.first_infinite());
    let told = first.iter().fold(error, |error, step| {
        let error = error.and(&format!("; first: {}: it produced infinity from finite numbers", step.operation()));
        step.equation().line.into_iter().fold(error, Error::at)
    });
    told.help(match (rules.precision, first) {
        (Precision::F16, _) => "numbers beyond 65504 are infinite in f16: bf16() has the range of f32",
        (_, Some(_)) => "data of a smaller scale, or a smaller rate, may keep it finite",
        (_, None) => "parameters and batch are finite: look at the terms of the loss, and at its constants",
    })
}

/// The first gradient that is not finite, by the path of its leaf.
pub(super) fn gradient<M: Tree, B: Tree, O: Optimiser>(
    rules: &Rules<O>,
    loss: Loss<'_, M, B>,
    (model, batch, key): (&M, &B, &Key),
) -> Option<String> {
    let function = |model: &M| rules.loss(loss, model, batch, key);
    let (_, gradients) = catch(|| value_and_grad_with_aux(function)(model)).ok()?;
    first_of(&gradients).map(|(name, ..)| name)
}

/// The first number of a tree that is not finite: the path of its leaf, its position and itself.
fn first_of(tree: &impl Tree) -> Option<(String, Vec<usize>, f64)> {
    tree.named_leaves().into_iter().filter(|(_, leaf)| leaf.dtype().is_float()).find_map(|(name, leaf)| {
        let numbers = leaf.cast(DType::F64).to_vec::<f64>();
        let mut place = numbers.iter().position(|x| !x.is_finite())?;
        let found = numbers[place];
        let mut position = vec![0; leaf.shape().len()];
        for (at, size) in position.iter_mut().zip(leaf.shape()).rev() {
            (*at, place) = (place % size, place / size);
        }
        Some((name, position, found))
    })
}
