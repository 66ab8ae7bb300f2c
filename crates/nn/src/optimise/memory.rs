//! The memory of a rule.

use super::{Now, Number, Rule};
use crate::pattern;
use crate::prelude::*;
use std::borrow::Borrow;

/// The number of steps so far, and the tensors that a rule keeps for each parameter, named `path.slot`.
#[derive(Clone, Debug, Tree)]
#[tree(crate = "crate::prelude")]
pub struct Memory {
    /// The number of steps so far, if the rule or its schedule uses it: f64 of rank 0.
    pub count: Tensor,
    /// A factor of the rate that may be changed between steps, such as by a [`Plateau`](super::Plateau): f64 of
    /// rank 0.
    pub scale: Tensor,
    #[tree(flatten)]
    slots: Slots,
}

#[derive(Clone, Debug)]
struct Slots(Vec<Slot>);

/// The tensors of one parameter.
#[derive(Clone, Debug)]
struct Slot {
    path: String,
    names: &'static [&'static str],
    tensors: Vec<Tensor>,
}

impl Tree for Slots {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        for Slot { path: parameter, names, tensors } in &self.0 {
            for (name, tensor) in names.iter().zip(tensors) {
                path.within(parameter, |path| path.within(*name, |path| f(path, tensor)));
            }
        }
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        for Slot { path: parameter, names, tensors } in &mut self.0 {
            for (name, tensor) in names.iter().zip(tensors) {
                path.within(&*parameter, |path| path.within(*name, |path| f(path, tensor)));
            }
        }
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        let slot = |slot: &Slot| {
            let named = slot.names.iter().zip(&slot.tensors);
            let tensors = named
                .map(|(name, tensor)| path.within(&slot.path, |path| path.within(*name, |path| f(path, tensor))))
                .collect();
            Slot { path: slot.path.clone(), names: slot.names, tensors }
        };
        Slots(self.0.iter().map(slot).collect())
    }
}

/// Whether an optimiser changes this leaf.
pub(crate) fn is_trained(path: &TreePath, leaf: &Tensor) -> bool {
    !path.is_frozen() && leaf.dtype().is_float()
}

impl Memory {
    #[track_caller]
    pub(super) fn new(rule: &impl Rule, parameters: &impl Tree) -> Memory {
        let groups = rule.settings().groups.iter().map(|(pattern, _)| pattern.as_str());
        pattern::expect_matches("group", groups, parameters);
        let mut slots = Vec::new();
        parameters.visit(&mut TreePath::root(), &mut |path, leaf| {
            if is_trained(path, leaf) {
                let leaf = leaf.detach();
                let names = rule.slots(&leaf);
                let tensors = names.iter().map(|name| rule.first(name, &leaf).contiguous()).collect();
                slots.push(Slot { path: path.to_string(), names, tensors });
            }
        });
        let number = |x: f64| Tensor::from(x).cast(DType::F64);
        Memory { count: number(0.0), scale: number(1.0), slots: Slots(slots) }
    }

    /// A step with these gradients. Nothing is changed if they, or this memory, do not belong to the parameters.
    pub(super) fn update<P: Tree>(&mut self, rule: &impl Rule, parameters: &mut P, gradients: &P, line: Line) {
        let gradients = gradients.leaves();
        let mut trained = Vec::with_capacity(gradients.len());
        let checked = self.check(rule, parameters, gradients.len(), |place, parameter| {
            let problem = match gradients.get(place) {
                None => "has no gradient".to_string(),
                Some(gradient) if gradient.shape() != parameter.shape() => {
                    let (shape, other) = (Shape::from(parameter.shape()), Shape::from(gradient.shape()));
                    format!("has shape {shape}, its gradient {other}")
                }
                Some(gradient) => {
                    trained.push(*gradient);
                    return None;
                }
            };
            Some(Mismatch::Gradient(problem))
        });
        checked.map_err(|error| error.at(line)).unwrap_or_else(|error| error.raise());
        let factor = rule.settings().clip_norm.map(|norm| clipping(trained.iter().copied(), norm));
        let mut trained = trained.into_iter();
        self.advance(rule, parameters, factor, |_| trained.next().expect("as many as trained parameters"));
    }

    /// A step with the gradients that the parameters accumulated, which it takes.
    pub(super) fn step<P: Tree>(&mut self, rule: &impl Rule, parameters: &mut P, line: Line) {
        let clips = rule.settings().clip_norm;
        let mut gradients = Vec::new();
        let checked = self.check(rule, parameters, 0, |_, parameter| {
            if clips.is_some() {
                gradients.extend(parameter.grad());
            }
            None
        });
        checked.map_err(|error| error.at(line)).unwrap_or_else(|error| error.raise());
        let factor = clips.map(|norm| clipping(gradients.iter(), norm));
        drop(gradients);
        let take = |parameter: &mut Tensor| parameter.take_grad().unwrap_or_else(|| parameter.zeros_like());
        self.advance(rule, parameters, factor, take);
    }

    /// Updates every trained parameter with the gradient that `gradient` finds for it, times `factor`.
    fn advance<P: Tree, G: Borrow<Tensor>>(
        &mut self,
        rule: &impl Rule,
        parameters: &mut P,
        factor: Option<Tensor>,
        mut gradient: impl FnMut(&mut Tensor) -> G,
    ) {
        let settings = rule.settings();
        let mut count = Number::from(0.0);
        if rule.counts() || !settings.schedule.is_constant() {
            count = Number::of(&self.count);
            self.count += 1.0;
        }
        let scale = if settings.plateau.is_some() { Number::of(&self.scale) } else { Number::from(1.0) };
        let rate = settings.rate_at(&count, &scale);
        let count = count + 1.0;

        let mut slots = self.slots.0.iter_mut();
        let has_groups = !settings.groups.is_empty();
        let mut now = Now { rate: rate.clone(), weight_decay: settings.weight_decay, count };
        let mut visit = |path: &TreePath, parameter: &mut Tensor| {
            if !is_trained(path, parameter) {
                return;
            }
            let slot = slots.next().expect("as many as trained parameters");
            let gradient = gradient(parameter);
            if has_groups {
                let Some((factor, weight_decay)) = settings.of(&slot.path) else { return };
                now.rate = if factor == 1.0 { rate.clone() } else { rate.clone() * factor };
                now.weight_decay = weight_decay;
            }
            let clipped = clip(gradient.borrow(), factor.as_ref(), settings.clip_value);
            rule.apply(parameter, clipped.as_ref().unwrap_or(gradient.borrow()), &mut slot.tensors, &now);
        };
        TreePath::root().quietly(|path| parameters.visit_mut(path, &mut visit));
    }

    /// Calls `problem` with every trained parameter and its place among all leaves, until that or this memory does not fit. `least` leaves
    /// are wanted.
    fn check<'p, P: Tree>(
        &self,
        rule: &impl Rule,
        parameters: &'p P,
        least: usize,
        mut problem: impl FnMut(usize, &'p Tensor) -> Option<Mismatch>,
    ) -> Result<(), Error> {
        let (mut place, mut slots, mut wrong) = (0, self.slots.0.iter(), None);
        let mut check = |path: &TreePath, parameter: &'p Tensor| {
            if wrong.is_none() && is_trained(path, parameter) {
                let found = problem(place, parameter).or_else(|| match slots.next() {
                    None => Some(Mismatch::Memory("is not in the memory of the optimiser".to_string())),
                    Some(slot) => difference(rule, parameter, slot),
                });
                wrong = found.map(|problem| (place, problem));
            }
            place += 1;
        };
        TreePath::root().quietly(|path| parameters.visit(path, &mut check));
        let Some((place, problem)) = wrong else {
            if slots.next().is_none() && place >= least {
                return Ok(());
            }
            let message = "the network has fewer parameters than its gradient or the memory of the optimiser";
            return Err(Error::new(ErrorKind::Tree, "update", message).help(START));
        };
        let name = parameters.named_leaves().swap_remove(place).0;
        let (text, help) = match problem {
            Mismatch::Gradient(text) => (text, "give the gradient of a scalar loss with respect to these parameters"),
            Mismatch::Memory(text) => (text, START),
        };
        Err(Error::new(ErrorKind::Tree, "update", format!("the parameter `{name}` {text}")).help(help))
    }
}

const START: &str = "begin with start(&parameters) of this optimiser for this network";

/// What does not belong to a parameter, and why.
enum Mismatch {
    Gradient(String),
    Memory(String),
}

/// The factor that brings the norm of all gradients to at most `norm`, as a tensor of rank 0.
fn clipping<'t>(gradients: impl Iterator<Item = &'t Tensor>, norm: f64) -> Tensor {
    (norm / (norm_of(gradients) + 1e-6)).clamp_max(1.0)
}

/// The Euclidean norm of all elements together, f64 of rank 0.
pub(crate) fn norm_of<'t>(leaves: impl Iterator<Item = &'t Tensor>) -> Tensor {
    // A square of f16 or f32 may be infinite where the norm is not.
    let squares = leaves.map(|leaf| leaf.cast(DType::F64).square().sum());
    squares.reduce(|a, b| a + b).unwrap_or_else(|| Tensor::from(0.0).cast(DType::F64)).sqrt()
}

fn clip(gradient: &Tensor, factor: Option<&Tensor>, value: Option<f64>) -> Option<Tensor> {
    let scaled = factor.map(|factor| gradient * factor.cast(gradient.dtype()));
    match value {
        Some(value) => Some(scaled.as_ref().unwrap_or(gradient).clamp(-value, value)),
        None => scaled,
    }
}

/// Why a slot does not belong to a parameter.
fn difference(rule: &impl Rule, parameter: &Tensor, slot: &Slot) -> Option<Mismatch> {
    let wanted = rule.slots(parameter);
    if !std::ptr::eq(wanted, slot.names) && wanted != slot.names {
        let text = format!("needs {wanted:?} in the memory of the optimiser, which has {:?}", slot.names);
        return Some(Mismatch::Memory(text));
    }
    let shape = parameter.shape();
    let other = slot.tensors.iter().find(|tensor| tensor.rank() > 0 && tensor.shape() != shape)?;
    let (shape, other) = (Shape::from(shape), Shape::from(other.shape()));
    Some(Mismatch::Memory(format!("has shape {shape}, what the optimiser remembers of it {other}")))
}
