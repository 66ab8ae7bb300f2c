//! One training step: loss, gradients, update.

use crate::optimise::{Number, Optimiser};
use crate::prelude::*;
use crate::{Context, ModelMethods};
use std::ops::Range;

/// Everything that changes during training, as one tree: a checkpoint holds it.
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct TrainingState<M, S> {
    /// The model.
    pub model: M,
    /// What the optimiser remembers.
    pub optimiser: S,
    /// The key of dropout; every step takes the next one.
    pub key: Key,
    /// The moving average of the model, if there is one.
    pub average: Option<M>,
    /// The factor of the loss, if it is computed in f16.
    pub scale: Option<LossScale>,
}

/// A factor of the loss that keeps small gradients above the smallest f16, and adapts.
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct LossScale {
    /// The factor, a power of two: f32 of rank 0.
    pub factor: Tensor,
    /// The number of steps since the factor changed.
    pub steps: Tensor,
}

impl LossScale {
    /// The largest factor that is a finite f16.
    const LARGEST: f32 = 32768.0;
    /// The least factor: with a smaller one the cotangent of the loss comes near the smallest f16, and gradients vanish.
    const LEAST: f32 = 1.0;
    /// The number of steps after which the factor is doubled.
    const PATIENCE: f64 = 2000.0;

    pub(super) fn new() -> LossScale {
        LossScale { factor: Tensor::from(LossScale::LARGEST), steps: Tensor::from(0.0) }
    }

    /// Whether the factor cannot be halved.
    pub(super) fn is_least(&self) -> bool {
        self.factor.item() <= f64::from(LossScale::LEAST)
    }

    /// Whether the gradients of the last step overflowed.
    pub(super) fn has_overflowed(&self) -> bool {
        self.steps.item() == 0.0
    }

    /// The next factor: half of this one after an overflow, twice as large after many steps without one.
    fn next(&self, is_finite: &Tensor) -> LossScale {
        let steps = &self.steps + 1.0;
        let is_due = steps.ge(LossScale::PATIENCE);
        let larger = (&self.factor * 2.0).clamp_max(f64::from(LossScale::LARGEST));
        let smaller = (&self.factor * 0.5).clamp_min(f64::from(LossScale::LEAST));
        let zero = steps.zeros_like();
        LossScale {
            factor: is_finite.where_(is_due.where_(&larger, &self.factor), &smaller),
            steps: is_finite.where_(is_due.where_(&zero, &steps), &zero),
        }
    }
}

/// The precision in which the loss and its gradients are computed; parameters stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The dtype of the parameters.
    Full,
    /// bf16.
    Bf16,
    /// f16, with a scaled loss.
    F16,
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

/// A loss of one batch.
pub(super) type Loss<'f, M, B> = &'f dyn Fn(&M, &B, &mut Context<'_>) -> Tensor;

impl<O: Optimiser> Rules<O> {
    /// The loss in the precision of this run, and the state that its layers want to change.
    pub fn loss<M: Tree, B: Tree>(
        &self,
        loss: Loss<'_, M, B>,
        model: &M,
        batch: &B,
        key: &Key,
    ) -> (Tensor, crate::Updates) {
        let run = |model: &M, batch: &B, mut context: Context<'_>| {
            let value = loss(model, batch, &mut context);
            if value.elements() != 1 || !value.dtype().is_float() {
                let message = format!("the loss is {}, not one float", value.spec());
                Error::new(ErrorKind::SeedNeeded(Shape::from(value.shape())), "Trainer", message)
                    .help("the loss of a batch is a mean over its examples, such as .mean()")
                    .raise();
            }
            // One number of any rank becomes one of rank 0, as the state has them.
            (if value.shape().is_empty() { value } else { value.sum() }, context.updates())
        };
        let context = Context::training(key.clone());
        let dtype = match self.precision {
            Precision::Full => return run(model, batch, context.of(model)),
            Precision::Bf16 => DType::BF16,
            Precision::F16 => DType::F16,
        };
        let narrow = model.to_dtype(dtype);
        run(&narrow, &batch.to_dtype(dtype), context.made_from(&narrow, model))
    }

    /// One step; returns the loss. If that, or a gradient in f16, is not finite, nothing changes but the key and the scale.
    pub fn step<M: Tree + Clone, B: Tree>(
        &self,
        loss: Loss<'_, M, B>,
        state: &mut TrainingState<M, O::State>,
        batch: &B,
    ) -> Tensor
    where
        O::State: Clone,
    {
        let key = state.key.next();
        let factor = state.scale.as_ref().map(|scale| scale.factor.clone());
        let scaled = |value: Tensor| factor.iter().fold(value, |value, factor| value.cast(DType::F32) * factor);
        let mut sum: Option<(Tensor, M)> = None;
        let mut updates = None;
        let examples = examples_of(batch).unwrap_or(0);
        let parts = self.parts.min(examples).max(1);
        // The state of layers goes from one part to the next.
        let mut changed: Option<M> = None;
        for part in 0..parts {
            let (part_key, batch) =
                (if self.parts == 1 { key.clone() } else { key_of(&key, part) }, split(batch, part, parts));
            // The loss is a mean over the examples of a part; parts may differ by one.
            let weight = match part_of(examples, part, parts).len() * parts {
                total if total == examples => None,
                total => Some(total as f64 / examples as f64),
            };
            let function = |model: &M| {
                let (value, updates) = self.loss(loss, model, &batch, &part_key);
                (weight.iter().fold(scaled(value), |value, weight| value * *weight), updates)
            };
            let ((value, changes), gradients) =
                value_and_grad_with_aux(function)(changed.as_ref().unwrap_or(&state.model));
            let value = value.cast(DType::F64);
            if part + 1 < parts {
                changes.apply(changed.get_or_insert_with(|| state.model.clone()));
            } else {
                updates = Some(changes);
            }
            sum = Some(match sum {
                None => (value, gradients),
                Some((total, all)) => {
                    let added = all.zip_leaves(&gradients, |a, b| a + b);
                    (total + value, added.unwrap_or_else(|error| error.raise()))
                }
            });
        }
        // Tensors that are not shared are updated in place.
        drop(changed);
        let (mut value, mut gradients) = sum.expect("at least one part");
        let share =
            factor.iter().fold(Tensor::from(1.0 / parts as f64), |share, factor| share / factor.cast(DType::F64));
        if parts > 1 || factor.is_some() {
            value *= &share;
            gradients = gradients.map_leaves(|leaf| match leaf.dtype().is_float() {
                true => leaf * share.cast(leaf.dtype()),
                false => leaf.clone(),
            });
        }
        let mut is_usable = value.isfinite();
        if factor.is_some() {
            let leaves = gradients.leaves();
            let floats = leaves.iter().filter(|leaf| leaf.dtype().is_float());
            is_usable = floats.fold(is_usable, |all, leaf| all.logical_and(&leaf.isfinite().all()));
        }
        let next_scale = state.scale.as_ref().map(|scale| scale.next(&is_usable));
        let old = match Number::of(&is_usable.cast(DType::F64)) {
            Number::Known(0.0) => {
                state.scale = next_scale;
                return value;
            }
            Number::Known(_) => None,
            Number::Traced(_) => Some(state.clone()),
        };
        self.optimiser.update(&mut state.model, &gradients, &mut state.optimiser);
        updates.into_iter().for_each(|updates| updates.apply(&mut state.model));
        if let (Some(kept), Some(average)) = (self.average, &mut state.average) {
            follow(average, &state.model, kept);
        }
        if let Some(old) = old {
            let mut key = state.key.clone();
            let chosen = state.zip_leaves(&old, |new, old| is_usable.where_(new, old));
            *state = chosen.unwrap_or_else(|error| error.raise());
            std::mem::swap(&mut state.key, &mut key);
        }
        state.scale = next_scale;
        value
    }
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

/// The key of one part of a step.
fn key_of(key: &Key, part: usize) -> Key {
    let mut key = key.clone();
    (0..part).for_each(|_| {
        key.next();
    });
    key.next()
}

/// The examples of part `index` of `parts`, whose sizes differ by one at most.
fn part_of(examples: usize, index: usize, parts: usize) -> Range<usize> {
    index * examples / parts..(index + 1) * examples / parts
}

/// The number of examples of a batch: the rows of its first leaf that has any.
pub(super) fn examples_of(batch: &impl Tree) -> Option<usize> {
    batch.leaves().into_iter().find_map(|leaf| leaf.shape().first().copied())
}

/// Part `index` of `parts` of a batch. A leaf of rank 0 belongs to every part.
fn split<B: Tree>(batch: &B, index: usize, parts: usize) -> B {
    if parts == 1 {
        return batch.map_leaves(Tensor::clone);
    }
    batch.map_leaves(|leaf| {
        if leaf.shape().is_empty() {
            return leaf.clone();
        }
        let Range { start, end } = part_of(leaf.size(0), index, parts);
        leaf.slice(start..end)
    })
}
