//! One training step: loss, gradients, update.

use crate::base::*;
use crate::optimise::{Number, Optimiser};
use crate::{Context, ModelMethods};

/// Everything that changes during training, as one tree: a checkpoint holds it.
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::base")]
pub struct TrainingState<M, S> {
    /// The model.
    pub model: M,
    /// What the optimiser remembers.
    pub optimiser: S,
    /// The key of dropout; every step takes the next one.
    pub key: Key,
    /// The moving average of the model, if there is one.
    pub average: Option<M>,
}

/// The precision in which the loss and its gradients are computed; parameters stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The dtype of the parameters.
    Full,
    /// bf16.
    Bf16,
}

/// What a step needs besides its state and its batch.
pub(super) struct Rules<O> {
    pub optimiser: O,
    /// How much of the moving average is kept.
    pub average: Option<f64>,
    /// The number of parts in which a batch is processed.
    pub parts: usize,
    pub precision: Precision,
}

impl<O: Optimiser> Rules<O> {
    /// One step; returns the loss. If that is not finite, nothing but the key changes.
    pub fn step<M: Tree + Clone, B: Tree>(
        &self,
        loss: &dyn Fn(&M, &B, &mut Context<'_>) -> Tensor,
        state: &mut TrainingState<M, O::State>,
        batch: &B,
    ) -> Tensor
    where
        O::State: Clone,
    {
        let key = state.key.next();
        let of_model = |model: &M, part: &B, key: &Key| match self.precision {
            Precision::Full => with_updates(loss, model, part, key),
            Precision::Bf16 => with_updates(loss, &model.to_dtype(DType::BF16), &in_bf16(part), key),
        };
        let mut sum: Option<(Tensor, M)> = None;
        let mut updates = None;
        for part in 0..self.parts {
            let (part_key, examples) =
                (if self.parts == 1 { key.clone() } else { key_of(&key, part) }, split(batch, part, self.parts));
            let function = |model: &M| of_model(model, &examples, &part_key);
            let ((value, changes), gradients) = value_and_grad_with_aux(function)(&state.model);
            let value = value.cast(DType::F64);
            updates = Some(changes);
            sum = Some(match sum {
                None => (value, gradients),
                Some((total, all)) => {
                    let added = all.zip_leaves(&gradients, |a, b| a + b);
                    (total + value, added.unwrap_or_else(|error| error.raise()))
                }
            });
        }
        let (mut value, mut gradients) = sum.expect("at least one part");
        if self.parts > 1 {
            let share = 1.0 / self.parts as f64;
            value *= share;
            gradients = gradients.map_leaves(|leaf| if leaf.dtype().is_float() { leaf * share } else { leaf.clone() });
        }
        let old = match Number::of(&value) {
            Number::Known(known) if !known.is_finite() => return value,
            Number::Known(_) => None,
            Number::Traced(_) => Some(state.clone()),
        };
        self.optimiser.update(&mut state.model, &gradients, &mut state.optimiser);
        updates.into_iter().for_each(|updates| updates.apply(&mut state.model));
        if let (Some(kept), Some(average)) = (self.average, &mut state.average) {
            follow(average, &state.model, kept);
        }
        if let Some(old) = old {
            let is_finite = value.isfinite();
            let (old, mut key) = (old, state.key.clone());
            let chosen = state.zip_leaves(&old, |new, old| is_finite.where_(new, old));
            *state = chosen.unwrap_or_else(|error| error.raise());
            std::mem::swap(&mut state.key, &mut key);
        }
        value
    }
}

/// The loss, and the state that its layers want to change.
fn with_updates<M: Tree, B: Tree>(
    loss: &dyn Fn(&M, &B, &mut Context<'_>) -> Tensor,
    model: &M,
    batch: &B,
    key: &Key,
) -> (Tensor, crate::Updates) {
    let mut context = Context::training(key.clone()).of(model);
    let value = loss(model, batch, &mut context);
    (value, context.updates())
}

/// average = kept average + (1 - kept) model; leaves that are not floats are copied.
fn follow<M: Tree>(average: &mut M, model: &M, kept: f64) {
    let mut leaves = model.leaves().into_iter();
    average.visit_mut(&mut TreePath::root(), &mut |_, leaf| {
        let Some(now) = leaves.next() else { return };
        match leaf.dtype().is_float() {
            true => leaf.combine_assign(kept, now, 1.0 - kept),
            false => *leaf = now.clone(),
        }
    });
}

fn in_bf16<B: Tree>(batch: &B) -> B {
    batch.to_dtype(DType::BF16)
}

/// The key of one part of a step.
fn key_of(key: &Key, part: usize) -> Key {
    let mut key = key.clone();
    (0..part).for_each(|_| {
        key.next();
    });
    key.next()
}

/// Part `index` of `parts` equal parts of a batch.
fn split<B: Tree>(batch: &B, index: usize, parts: usize) -> B {
    if parts == 1 {
        return batch.map_leaves(Tensor::clone);
    }
    batch.map_leaves(|leaf| {
        let size = leaf.size(0) / parts;
        leaf.slice(index * size..(index + 1) * size)
    })
}
