//! The memory of a rule.

use super::{Now, Number, Rule};
use crate::prelude::*;

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
    pub(super) fn new(rule: &impl Rule, parameters: &impl Tree) -> Memory {
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

    pub(super) fn update<P: Tree>(&mut self, rule: &impl Rule, parameters: &mut P, gradients: &P, line: Line) {
        let settings = rule.settings();
        let gradients = gradients.leaves();
        let factor = settings.clip_norm.map(|norm| clipping(parameters, &gradients, norm));

        let mut count = Number::from(0.0);
        if rule.counts() || !settings.schedule.is_constant() {
            count = Number::of(&self.count);
            self.count += 1.0;
        }
        let scale = if settings.plateau.is_some() { Number::of(&self.scale) } else { Number::from(1.0) };
        let rate = settings.rate_at(&count, &scale);
        let count = count + 1.0;

        let (mut gradients, mut slots) = (gradients.into_iter(), self.slots.0.iter_mut());
        let mut wrong = None;
        let has_groups = !settings.groups.is_empty();
        let mut visit = |path: &TreePath, parameter: &mut Tensor| {
            let gradient = gradients.next();
            if wrong.is_some() || !is_trained(path, parameter) {
                return;
            }
            let (Some(gradient), Some(slot)) = (gradient, slots.next()) else {
                wrong = Some(mismatch(path.as_str(), "has no gradient or no memory"));
                return;
            };
            if let Some(text) = difference(parameter, gradient, slot) {
                wrong = Some(mismatch(&slot.path, &text));
                return;
            }
            let (rate_factor, weight_decay) = match has_groups {
                true => match settings.of(&slot.path) {
                    Some(of_group) => of_group,
                    None => return,
                },
                false => (1.0, settings.weight_decay),
            };
            let rate = if rate_factor == 1.0 { rate.clone() } else { rate.clone() * rate_factor };
            let now = Now { rate, weight_decay, count: count.clone() };
            let clipped = clip(gradient, factor.as_ref(), settings.clip_value);
            rule.step(parameter, clipped.as_ref().unwrap_or(gradient), &mut slot.tensors, &now);
        };
        TreePath::root().quietly(|path| parameters.visit_mut(path, &mut visit));
        if slots.next().is_some() {
            wrong = wrong.or_else(|| Some(mismatch("", "has fewer parameters")));
        }
        if let Some(error) = wrong {
            error.at(line).raise();
        }
    }
}

/// The factor that brings the norm of all gradients to at most `norm`, as a tensor of rank 0.
fn clipping(parameters: &impl Tree, gradients: &[&Tensor], norm: f64) -> Tensor {
    let mut trained = Vec::new();
    TreePath::root().quietly(|path| parameters.visit(path, &mut |path, leaf| trained.push(is_trained(path, leaf))));
    let squares = gradients.iter().zip(trained).filter(|(_, trained)| *trained);
    let squares = squares.map(|(gradient, _)| gradient.square().sum().cast(DType::F64));
    let total = squares.reduce(|a, b| a + b).unwrap_or_else(|| Tensor::from(0.0).cast(DType::F64)).sqrt();
    (norm / (total + 1e-6)).clamp_max(1.0)
}

fn clip(gradient: &Tensor, factor: Option<&Tensor>, value: Option<f64>) -> Option<Tensor> {
    let scaled = factor.map(|factor| gradient * factor.cast(gradient.dtype()));
    match value {
        Some(value) => Some(scaled.as_ref().unwrap_or(gradient).clamp(-value, value)),
        None => scaled,
    }
}

/// Why a gradient or a slot does not belong to a parameter.
fn difference(parameter: &Tensor, gradient: &Tensor, slot: &Slot) -> Option<String> {
    let shape = parameter.shape();
    if gradient.shape() != shape {
        let (shape, other) = (Shape::from(shape), Shape::from(gradient.shape()));
        return Some(format!("has shape {shape}, its gradient {other}"));
    }
    let other = slot.tensors.iter().find(|tensor| tensor.rank() > 0 && tensor.shape() != shape)?;
    let (shape, other) = (Shape::from(shape), Shape::from(other.shape()));
    Some(format!("has shape {shape}, what the optimiser remembers of it {other}"))
}

#[cold]
fn mismatch(path: &str, text: &str) -> Error {
    let message = format!("the parameter `{path}` {text}");
    Error::new(ErrorKind::Tree, "update", message).help("begin with start(&parameters) for this network")
}
