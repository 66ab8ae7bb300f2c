//! Optimisers: rules that turn gradients into better parameters.
//!
//! The memory of an optimiser is a tree, so a step is the same code whether it runs at once, is compiled, or continues from a file.

mod adaptive;
mod lbfgs;
mod memory;
mod momentum;
mod muon;
mod number;
mod schedule;
mod settings;

pub use adaptive::{Adadelta, Adagrad, Adam, AdamW, NAdam, RmsProp};
pub use lbfgs::{Lbfgs, LbfgsMemory, Minimum};
pub use memory::Memory;
pub(crate) use memory::norm_of;
pub use momentum::{Lion, Sgd};
pub use muon::Muon;
pub use number::{Number, combine};
pub use schedule::{Plateau, Schedule};
use settings::expect_setting;
pub use settings::{Group, Now, Settings};

use crate::ModelMethods;
use crate::prelude::*;

/// A method that improves parameters, given their gradients.
///
/// ```
/// use wengert::nn::optimise::{Optimiser, Sgd};
/// use wengert::prelude::*;
/// let optimiser = Sgd::new(0.1).momentum(0.9);
/// let mut w = Tensor::from([1.0, -2.0]);
/// let mut memory = optimiser.start(&w);
/// for _ in 0..200 {
///     let gradient = grad(|w: &Tensor| w.square().sum())(&w);
///     optimiser.update(&mut w, &gradient, &mut memory);
/// }
/// assert!(w.abs().max().item() < 1e-3);
/// ```
pub trait Optimiser {
    /// What it remembers from step to step.
    type State: Tree;

    /// The memory before the first step.
    #[track_caller]
    fn start(&self, parameters: &impl Tree) -> Self::State;

    /// One step. Frozen leaves and integers stay as they are.
    #[track_caller]
    fn update<P: Tree>(&self, parameters: &mut P, gradients: &P, state: &mut Self::State);

    /// One step with the gradients that `backward` accumulated in the parameters; it takes them. Where there is none, it is zeros.
    ///
    /// ```
    /// use wengert::nn::{Context, Layer, Linear, ModelMethods};
    /// use wengert::nn::optimise::{Optimiser, Sgd};
    /// use wengert::prelude::*;
    /// let mut model = Linear::new(2, 1, &mut Key::new(0)).require_grad();
    /// let optimiser = Sgd::new(0.1);
    /// let mut memory = optimiser.start(&model);
    /// let before = model.weight.clone();
    /// model.forward(&Tensor::from([[3.0, 4.0]]), &mut Context::evaluation()).sum().backward();
    /// optimiser.step(&mut model, &mut memory);
    /// assert!((before - &model.weight - Tensor::from([[0.3, 0.4]])).abs().max().item() < 1e-15);
    /// ```
    #[track_caller]
    fn step<P: Tree>(&self, parameters: &mut P, state: &mut Self::State) {
        let gradients = parameters.gradients();
        self.update(parameters, &gradients, state);
    }

    /// The learning rate of the step that comes next, if it has one.
    fn rate(&self, state: &Self::State) -> Option<f64>;

    /// Takes note of a metric after each epoch, of which these are all values so far; see [`Plateau`].
    fn observe(&self, _values: &[f64], _state: &mut Self::State) {}
}

/// A rule that updates every parameter by itself, from its gradient and a few tensors of the same shape.
///
/// Every rule is an [`Optimiser`]. What all rules share (rate and schedule, weight decay, clipping, groups) is set by the methods here.
///
/// ```
/// use wengert::nn::optimise::{Now, Optimiser, Rule, Settings};
/// use wengert::prelude::*;
///
/// /// Steps of one size, by the sign of the gradient.
/// struct SignDescent(Settings);
///
/// impl Rule for SignDescent {
///     fn settings(&self) -> &Settings {
///         &self.0
///     }
///     fn settings_mut(&mut self) -> &mut Settings {
///         &mut self.0
///     }
///     fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, _: &mut [Tensor], now: &Now) {
///         now.descend(parameter, &gradient.sign());
///     }
/// }
///
/// let optimiser = SignDescent(Settings::new(0.5));
/// let mut w = Tensor::from([3.0, -4.0]);
/// let mut memory = optimiser.start(&w);
/// optimiser.update(&mut w, &Tensor::from([10.0, -1.0]), &mut memory);
/// assert_eq!(w, Tensor::from([2.5, -3.5]));
/// ```
pub trait Rule: Sized {
    /// Rate, decay, clipping and groups.
    fn settings(&self) -> &Settings;

    /// The same, to be changed.
    fn settings_mut(&mut self) -> &mut Settings;

    /// The names of the tensors that it keeps for a parameter of this shape.
    fn slots(&self, _parameter: &Tensor) -> &'static [&'static str] {
        &[]
    }

    /// What a slot begins with; by default zeros like the parameter.
    fn first(&self, _slot: &str, parameter: &Tensor) -> Tensor {
        parameter.zeros_like()
    }

    /// Whether [`Now::count`] is used, even with a constant rate.
    fn counts(&self) -> bool {
        false
    }

    /// Updates one parameter and its slots.
    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now);

    /// With a rate that changes.
    #[must_use]
    fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings_mut().schedule = schedule;
        self
    }

    /// With a rate that falls when a metric stops improving, besides the schedule.
    #[must_use]
    fn plateau(mut self, plateau: Plateau) -> Self {
        self.settings_mut().plateau = Some(plateau);
        self
    }

    /// With weight decay: added to the gradient (`Sgd`, `Adam`, ..), or apart from it (`AdamW`, `Lion`, `Muon`).
    #[must_use]
    fn weight_decay(mut self, decay: f64) -> Self {
        self.settings_mut().weight_decay = decay;
        self
    }

    /// Scales all gradients so that their norm, taken together, is at most `norm`.
    #[must_use]
    #[track_caller]
    fn clip_norm(mut self, norm: f64) -> Self {
        expect_setting("clip_norm", norm, norm >= 0.0, "at least 0");
        self.settings_mut().clip_norm = Some(norm);
        self
    }

    /// Clips every element of the gradients to `-value ..= value`.
    #[must_use]
    #[track_caller]
    fn clip_value(mut self, value: f64) -> Self {
        expect_setting("clip_value", value, value >= 0.0, "at least 0");
        self.settings_mut().clip_value = Some(value);
        self
    }

    /// Other settings for the parameters whose path matches a pattern, in which `*` stands for any characters. The last group that matches
    /// holds. [`start`](Optimiser::start) refuses a pattern that matches nothing.
    ///
    /// ```
    /// use wengert::nn::optimise::{AdamW, Group, Rule};
    /// let optimiser = AdamW::new(1e-3).group("*.bias", Group::new().weight_decay(0.0)).group("head.*", Group::new().rate(10.0));
    /// ```
    #[must_use]
    fn group(mut self, pattern: &str, group: Group) -> Self {
        self.settings_mut().groups.push((pattern.to_string(), group));
        self
    }
}

impl<R: Rule> Optimiser for R {
    type State = Memory;

    #[track_caller]
    fn start(&self, parameters: &impl Tree) -> Memory {
        Memory::new(self, parameters)
    }

    #[track_caller]
    fn update<P: Tree>(&self, parameters: &mut P, gradients: &P, memory: &mut Memory) {
        let line = Line::caller();
        let _scope = primitive::scope(line);
        no_grad(|| memory.update(self, parameters, gradients, line));
    }

    #[track_caller]
    fn step<P: Tree>(&self, parameters: &mut P, memory: &mut Memory) {
        let line = Line::caller();
        let _scope = primitive::scope(line);
        no_grad(|| memory.step(self, parameters, line));
    }

    fn rate(&self, memory: &Memory) -> Option<f64> {
        self.settings().rate_at(&Number::of(&memory.count), &Number::of(&memory.scale)).known()
    }

    fn observe(&self, values: &[f64], memory: &mut Memory) {
        if let Some(plateau) = &self.settings().plateau {
            memory.scale = Tensor::from(plateau.scale(values)).cast(DType::F64);
        }
    }
}
