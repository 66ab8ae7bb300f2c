//! What all rules share: rate, decay, clipping, groups.

use super::{Number, Plateau, Schedule, combine};
use crate::pattern;
use crate::prelude::*;
use std::borrow::Cow;

/// The settings of a rule.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The learning rate, before the schedule.
    pub rate: f64,
    /// The factor of the rate at each step.
    pub schedule: Schedule,
    /// The factor of the parameter that is added to its gradient, or decays apart from it.
    pub weight_decay: f64,
    /// The largest norm of all gradients together.
    pub clip_norm: Option<f64>,
    /// The largest magnitude of an element of a gradient.
    pub clip_value: Option<f64>,
    /// When the rate falls because a metric does not improve.
    pub plateau: Option<Plateau>,
    /// Other settings for some parameters, by patterns of their paths.
    pub groups: Vec<(String, Group)>,
}

/// Refuses a setting that makes no sense.
#[track_caller]
pub(super) fn expect_setting(name: &str, value: f64, is_valid: bool, valid: &str) {
    if !is_valid {
        Error::new(ErrorKind::Argument, name, format!("{value} is not {valid}")).at(Line::caller()).raise();
    }
}

/// Refuses factors that do not forget.
#[track_caller]
pub(super) fn expect_betas(betas: (f64, f64)) -> (f64, f64) {
    for beta in [betas.0, betas.1] {
        expect_setting("betas", beta, (0.0..1.0).contains(&beta), "from 0 up to, but not including, 1");
    }
    betas
}

impl Settings {
    /// This rate, and nothing else.
    #[track_caller]
    pub fn new(rate: f64) -> Settings {
        expect_setting("rate", rate, rate >= 0.0 && rate.is_finite(), "a finite number of at least 0");
        let schedule = Schedule::constant();
        Settings {
            rate,
            schedule,
            weight_decay: 0.0,
            clip_norm: None,
            clip_value: None,
            plateau: None,
            groups: Vec::new(),
        }
    }

    /// The rate of step `count`, counted from 0.
    pub(super) fn rate_at(&self, count: &Number, scale: &Number) -> Number {
        scale.clone() * self.rate * self.schedule.factor(count)
    }

    /// The factor of the rate and the decay of a parameter; `None` if it is not to be changed.
    pub(super) fn of(&self, path: &str) -> Option<(f64, f64)> {
        let group = self.groups.iter().rev().find(|(pattern, _)| pattern::matches(pattern, path));
        match group.map(|(_, group)| group) {
            None => Some((1.0, self.weight_decay)),
            Some(group) => (!group.is_frozen).then(|| (group.rate, group.weight_decay.unwrap_or(self.weight_decay))),
        }
    }
}

/// Settings for some of the parameters; see [`Rule::group`](super::Rule::group).
#[derive(Clone, Debug)]
pub struct Group {
    rate: f64,
    weight_decay: Option<f64>,
    is_frozen: bool,
}

impl Default for Group {
    fn default() -> Group {
        Group::new()
    }
}

impl Group {
    /// The settings of all others.
    pub fn new() -> Group {
        Group { rate: 1.0, weight_decay: None, is_frozen: false }
    }

    /// A factor of the learning rate.
    #[must_use]
    pub fn rate(self, factor: f64) -> Group {
        Group { rate: factor, ..self }
    }

    /// Another weight decay.
    #[must_use]
    pub fn weight_decay(self, decay: f64) -> Group {
        Group { weight_decay: Some(decay), ..self }
    }

    /// The parameters stay as they are.
    #[must_use]
    pub fn frozen(self) -> Group {
        Group { is_frozen: true, ..self }
    }
}

/// The numbers of one step for one parameter.
#[derive(Clone, Debug)]
pub struct Now {
    /// The learning rate.
    pub rate: Number,
    /// The weight decay.
    pub weight_decay: f64,
    /// The number of this step, counted from 1.
    pub count: Number,
}

impl Now {
    /// Subtracts the rate times a direction.
    pub fn descend(&self, parameter: &mut Tensor, direction: &Tensor) {
        combine(parameter, &Number::from(1.0), direction, &-self.rate.clone());
    }

    /// Like [`descend`](Now::descend), with a further factor, after the parameter has decayed by the rate times the weight decay.
    pub fn decay_and_descend(&self, parameter: &mut Tensor, direction: &Tensor, factor: Number) {
        let keep = if self.weight_decay == 0.0 {
            Number::from(1.0)
        } else {
            Number::from(1.0) - self.rate.clone() * self.weight_decay
        };
        combine(parameter, &keep, direction, &-(self.rate.clone() * factor));
    }

    /// The gradient plus the weight decay times the parameter.
    pub fn decayed<'g>(&self, gradient: &'g Tensor, parameter: &Tensor) -> Cow<'g, Tensor> {
        if self.weight_decay == 0.0 {
            return Cow::Borrowed(gradient);
        }
        Cow::Owned(gradient + parameter * self.weight_decay)
    }
}
