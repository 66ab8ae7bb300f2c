//! Gradient descent with momentum.

use super::settings::expect_betas;
use super::{Now, Number, Rule, Settings, combine};
use crate::prelude::*;

/// Implements the two accessors of [`Rule`] for a struct with a field `settings`.
macro_rules! settings {
    () => {
        fn settings(&self) -> &Settings {
            &self.settings
        }

        fn settings_mut(&mut self) -> &mut Settings {
            &mut self.settings
        }
    };
}
pub(super) use settings;

/// Gradient descent: v = m v + g, p -= rate v.
///
/// ```
/// use wengert::nn::optimise::{Optimiser, Sgd};
/// use wengert::prelude::*;
/// let optimiser = Sgd::new(0.1);
/// let mut w = Tensor::from(1.0);
/// let mut memory = optimiser.start(&w);
/// optimiser.update(&mut w, &Tensor::from(2.0), &mut memory);
/// assert_eq!(w.item(), 0.8);
/// ```
#[derive(Clone, Debug)]
pub struct Sgd {
    settings: Settings,
    momentum: f64,
    nesterov: bool,
}

impl Sgd {
    /// With this rate, without momentum.
    #[track_caller]
    pub fn new(rate: f64) -> Sgd {
        Sgd { settings: Settings::new(rate), momentum: 0.0, nesterov: false }
    }

    /// The factor of the velocity.
    #[must_use]
    pub fn momentum(self, momentum: f64) -> Sgd {
        Sgd { momentum, ..self }
    }

    /// Nesterov's momentum: the step looks one velocity ahead. Without [`momentum`](Sgd::momentum) there is none.
    #[must_use]
    pub fn nesterov(self) -> Sgd {
        Sgd { nesterov: true, ..self }
    }
}

impl Rule for Sgd {
    settings!();

    fn slots(&self, _: &Tensor) -> &'static [&'static str] {
        if self.momentum == 0.0 { &[] } else { &["momentum_buffer"] }
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        let gradient = now.decayed(gradient, parameter);
        let [velocity] = slots else { return now.descend(parameter, &gradient) };
        velocity.combine_assign(self.momentum, &*gradient, 1.0);
        match self.nesterov {
            true => now.descend(parameter, &(&*gradient + &*velocity * self.momentum)),
            false => now.descend(parameter, velocity),
        }
    }
}

/// Lion: steps of one size, by the sign of a mean of gradients; weight decay apart from the gradient.
///
/// ```
/// use wengert::nn::optimise::{Lion, Optimiser};
/// use wengert::prelude::*;
/// let optimiser = Lion::new(0.25);
/// let mut w = Tensor::from([1.0, 1.0]);
/// let mut memory = optimiser.start(&w);
/// optimiser.update(&mut w, &Tensor::from([100.0, -0.001]), &mut memory);
/// assert_eq!(w, Tensor::from([0.75, 1.25]));
/// ```
#[derive(Clone, Debug)]
pub struct Lion {
    settings: Settings,
    betas: (f64, f64),
}

impl Lion {
    /// With this rate, and betas 0.9 and 0.99.
    #[track_caller]
    pub fn new(rate: f64) -> Lion {
        Lion { settings: Settings::new(rate), betas: (0.9, 0.99) }
    }

    /// The part of the mean in the direction, and from step to step.
    #[must_use]
    #[track_caller]
    pub fn betas(self, direction: f64, mean: f64) -> Lion {
        Lion { betas: expect_betas((direction, mean)), ..self }
    }
}

impl Rule for Lion {
    settings!();

    fn slots(&self, _: &Tensor) -> &'static [&'static str] {
        &["exp_avg"]
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        let (mean, (direction, kept)) = (&mut slots[0], self.betas);
        let sign = (&*mean * direction + gradient * (1.0 - direction)).sign();
        now.decay_and_descend(parameter, &sign, Number::from(1.0));
        combine(mean, &Number::from(kept), gradient, &Number::from(1.0 - kept));
    }
}
