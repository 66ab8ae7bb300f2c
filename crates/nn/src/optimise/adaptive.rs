//! Rules that scale each element by the size of its past gradients.

use super::momentum::settings;
use super::settings::expect_betas;
use super::{Now, Number, Rule, Settings, combine};
use crate::prelude::*;

/// The moments of Adam: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2.
fn follow(slots: &mut [Tensor], gradient: &Tensor, (first, second): (f64, f64)) {
    slots[0].combine_assign(first, gradient, 1.0 - first);
    slots[1].combine_square_assign(second, gradient, 1.0 - second);
}

/// `x / (sqrt(square) + epsilon)`.
fn over_root(x: &Tensor, square: &Tensor, epsilon: &Number) -> Tensor {
    match epsilon {
        Number::Known(epsilon) => x.over_root(square, *epsilon),
        Number::Traced(_) => x / (square.sqrt() + epsilon.tensor(x.dtype())),
    }
}

/// Adam's step: m' / (sqrt(v') + epsilon), where ' is the correction of the bias towards zero. Returns the direction without the
/// corrections, which are one factor.
fn adam_step(slots: &[Tensor], betas: (f64, f64), epsilon: f64, count: &Number) -> (Tensor, Number) {
    let mean_part = -count.power_of(betas.0) + 1.0;
    let root_part = (-count.power_of(betas.1) + 1.0).sqrt();
    (over_root(&slots[0], &slots[1], &(root_part.clone() * epsilon)), root_part / mean_part)
}

macro_rules! betas_and_epsilon {
    ($Rule:ident) => {
        /// How much of the mean and of the mean square is kept from step to step (default 0.9 and 0.999).
        #[must_use]
        #[track_caller]
        pub fn betas(self, mean: f64, square: f64) -> $Rule {
            $Rule { betas: expect_betas((mean, square)), ..self }
        }

        /// What is added to the root of the mean square (default 1e-8).
        #[must_use]
        pub fn epsilon(self, epsilon: f64) -> $Rule {
            $Rule { epsilon, ..self }
        }
    };
}

const BETAS: (f64, f64) = (0.9, 0.999);
const EPSILON: f64 = 1e-8;

macro_rules! adams {
    ($($(#[$doc:meta])* $Rule:ident $decay:literal |$self:ident, $parameter:ident, $gradient:ident, $slots:ident, $now:ident| $step:block)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $Rule {
            settings: Settings,
            betas: (f64, f64),
            epsilon: f64,
        }

        impl $Rule {
            /// With this rate.
            #[track_caller]
            pub fn new(rate: f64) -> $Rule {
                $Rule { settings: Settings { weight_decay: $decay, ..Settings::new(rate) }, betas: BETAS, epsilon: EPSILON }
            }

            betas_and_epsilon!($Rule);
        }

        impl Rule for $Rule {
            settings!();

            fn slots(&self, _: &Tensor) -> &'static [&'static str] {
                &["exp_avg", "exp_avg_sq"]
            }

            fn counts(&self) -> bool {
                true
            }

            fn apply(&$self, $parameter: &mut Tensor, $gradient: &Tensor, $slots: &mut [Tensor], $now: &Now) $step
        }
    )+};
}

adams! {
    /// Adam; weight decay is added to the gradient.
    Adam 0.0 |self, parameter, gradient, slots, now| {
        follow(slots, &now.decayed(gradient, parameter), self.betas);
        let (direction, factor) = adam_step(slots, self.betas, self.epsilon, &now.count);
        let plain = Now { weight_decay: 0.0, ..now.clone() };
        plain.decay_and_descend(parameter, &direction, factor);
    }
    /// Adam with weight decay apart from the gradient (default 0.01).
    ///
    /// ```
    /// use wengert::nn::optimise::{AdamW, Optimiser, Rule};
    /// use wengert::prelude::*;
    /// let optimiser = AdamW::new(0.1).weight_decay(0.0);
    /// let mut w = Tensor::from([1.0, 1.0]);
    /// let mut memory = optimiser.start(&w);
    /// optimiser.update(&mut w, &Tensor::from([1e3, -1e-3]), &mut memory);
    /// assert!(w.all_close(&Tensor::from([0.9, 1.1]), 1e-5)); // the first step has the size of the rate
    /// ```
    AdamW 0.01 |self, parameter, gradient, slots, now| {
        follow(slots, gradient, self.betas);
        let (direction, factor) = adam_step(slots, self.betas, self.epsilon, &now.count);
        now.decay_and_descend(parameter, &direction, factor);
    }
}

/// Adam with Nesterov's momentum.
#[derive(Clone, Debug)]
pub struct NAdam {
    settings: Settings,
    betas: (f64, f64),
    epsilon: f64,
    momentum_decay: f64,
}

impl NAdam {
    /// With this rate.
    #[track_caller]
    pub fn new(rate: f64) -> NAdam {
        NAdam { settings: Settings::new(rate), betas: BETAS, epsilon: EPSILON, momentum_decay: 4e-3 }
    }

    betas_and_epsilon!(NAdam);

    /// How fast the momentum grows (default 0.004).
    #[must_use]
    pub fn momentum_decay(self, decay: f64) -> NAdam {
        NAdam { momentum_decay: decay, ..self }
    }

    fn momentum(&self, count: Number) -> Number {
        (-(count * self.momentum_decay).power_of(0.96) * 0.5 + 1.0) * self.betas.0
    }
}

impl Rule for NAdam {
    settings!();

    fn slots(&self, _: &Tensor) -> &'static [&'static str] {
        &["exp_avg", "exp_avg_sq", "mu_product"]
    }

    fn first(&self, slot: &str, parameter: &Tensor) -> Tensor {
        if slot == "mu_product" { Tensor::from(1.0).cast(DType::F64) } else { parameter.zeros_like() }
    }

    fn counts(&self) -> bool {
        true
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        let gradient = now.decayed(gradient, parameter);
        let (now_momentum, next_momentum) = (self.momentum(now.count.clone()), self.momentum(now.count.clone() + 1.0));
        let product = Number::of(&slots[2]) * now_momentum.clone();
        slots[2] = product.tensor(DType::F64);
        follow(slots, &gradient, self.betas);
        let root_part = (-now.count.power_of(self.betas.1) + 1.0).sqrt();
        let epsilon = root_part.clone() * self.epsilon;
        let of_gradient = (-now_momentum + 1.0) / (-product.clone() + 1.0) * root_part.clone();
        let of_mean = next_momentum.clone() / (-(product * next_momentum) + 1.0) * root_part;
        let plain = Now { weight_decay: 0.0, ..now.clone() };
        plain.decay_and_descend(parameter, &over_root(&gradient, &slots[1], &epsilon), of_gradient);
        plain.decay_and_descend(parameter, &over_root(&slots[0], &slots[1], &epsilon), of_mean);
    }
}

/// RMSprop: each element is divided by the root of its mean square gradient.
#[derive(Clone, Debug)]
pub struct RmsProp {
    settings: Settings,
    alpha: f64,
    epsilon: f64,
    momentum: f64,
}

impl RmsProp {
    /// With this rate; the mean square keeps 0.99 of itself.
    #[track_caller]
    pub fn new(rate: f64) -> RmsProp {
        RmsProp { settings: Settings::new(rate), alpha: 0.99, epsilon: EPSILON, momentum: 0.0 }
    }

    /// How much of the mean square is kept from step to step.
    #[must_use]
    pub fn alpha(self, alpha: f64) -> RmsProp {
        RmsProp { alpha, ..self }
    }

    /// The factor of the velocity.
    #[must_use]
    pub fn momentum(self, momentum: f64) -> RmsProp {
        RmsProp { momentum, ..self }
    }
}

impl Rule for RmsProp {
    settings!();

    fn slots(&self, _: &Tensor) -> &'static [&'static str] {
        if self.momentum == 0.0 { &["square_avg"] } else { &["square_avg", "momentum_buffer"] }
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        let gradient = now.decayed(gradient, parameter);
        slots[0].combine_square_assign(self.alpha, &*gradient, 1.0 - self.alpha);
        let scaled = gradient.over_root(&slots[0], self.epsilon);
        let Some(velocity) = slots.get_mut(1) else { return now.descend(parameter, &scaled) };
        velocity.combine_assign(self.momentum, &scaled, 1.0);
        now.descend(parameter, velocity);
    }
}

/// Adagrad: each element is divided by the root of the sum of its squared gradients.
#[derive(Clone, Debug)]
pub struct Adagrad {
    settings: Settings,
    epsilon: f64,
    rate_decay: f64,
}

impl Adagrad {
    /// With this rate.
    #[track_caller]
    pub fn new(rate: f64) -> Adagrad {
        Adagrad { settings: Settings::new(rate), epsilon: 1e-10, rate_decay: 0.0 }
    }

    /// The rate of step k, counted from 0, is divided by `1 + k decay`.
    #[must_use]
    pub fn rate_decay(self, decay: f64) -> Adagrad {
        Adagrad { rate_decay: decay, ..self }
    }
}

impl Rule for Adagrad {
    settings!();

    fn slots(&self, _: &Tensor) -> &'static [&'static str] {
        &["sum"]
    }

    fn counts(&self) -> bool {
        self.rate_decay != 0.0
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        let gradient = now.decayed(gradient, parameter);
        slots[0].combine_square_assign(1.0, &*gradient, 1.0);
        let factor = Number::from(1.0) / ((now.count.clone() - 1.0) * self.rate_decay + 1.0);
        let plain = Now { weight_decay: 0.0, ..now.clone() };
        plain.decay_and_descend(parameter, &gradient.over_root(&slots[0], self.epsilon), factor);
    }
}

/// Adadelta: the size of a step follows the sizes of past steps. Its rate is 1 unless told otherwise.
#[derive(Clone, Debug)]
pub struct Adadelta {
    settings: Settings,
    rho: f64,
    epsilon: f64,
}

impl Adadelta {
    /// With this rate; the means keep 0.9 of themselves.
    #[track_caller]
    pub fn new(rate: f64) -> Adadelta {
        Adadelta { settings: Settings::new(rate), rho: 0.9, epsilon: 1e-6 }
    }

    /// How much of the means is kept from step to step.
    #[must_use]
    pub fn rho(self, rho: f64) -> Adadelta {
        Adadelta { rho, ..self }
    }
}

impl Rule for Adadelta {
    settings!();

    fn slots(&self, _: &Tensor) -> &'static [&'static str] {
        &["square_avg", "acc_delta"]
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        let gradient = now.decayed(gradient, parameter);
        slots[0].combine_square_assign(self.rho, &*gradient, 1.0 - self.rho);
        let step = ((&slots[1] + self.epsilon) / (&slots[0] + self.epsilon)).sqrt() * &*gradient;
        slots[1].combine_square_assign(self.rho, &step, 1.0 - self.rho);
        combine(parameter, &Number::from(1.0), &step, &-now.rate.clone());
    }
}
