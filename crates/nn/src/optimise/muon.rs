//! Muon: matrices move along orthogonal directions.

use super::momentum::settings;
use super::{AdamW, Now, Number, Rule, Settings, combine};
use crate::prelude::*;

/// The coefficients of the polynomial that brings singular values towards 1.
const QUINTIC: [f64; 3] = [3.4445, -4.775, 2.0315];
const STEPS: usize = 5;
const TINY: f64 = 1e-7;

/// Muon: the momentum of a matrix is replaced by the nearest orthogonal matrix, approximately. Parameters that are not matrices are updated
/// by AdamW.
///
/// ```
/// use wengert::nn::optimise::{Muon, Optimiser};
/// use wengert::prelude::*;
/// let optimiser = Muon::new(0.02);
/// let mut w = Tensor::eye(3);
/// let mut memory = optimiser.start(&w);
/// optimiser.update(&mut w, &Tensor::from([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]), &mut memory);
/// assert!(w.isfinite().all().item() == 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Muon {
    settings: Settings,
    momentum: f64,
    /// Of the parameters that are not matrices.
    adamw: AdamW,
    adamw_rate: f64,
}

impl Muon {
    /// With this rate for matrices, momentum 0.95 with Nesterov's step, weight decay 0.1; AdamW with a rate of 3e-4 for the others.
    #[track_caller]
    pub fn new(rate: f64) -> Muon {
        let settings = Settings { weight_decay: 0.1, ..Settings::new(rate) };
        Muon { settings, momentum: 0.95, adamw: AdamW::new(1.0), adamw_rate: 3e-4 }
    }

    /// The factor of the momentum.
    #[must_use]
    pub fn momentum(self, momentum: f64) -> Muon {
        Muon { momentum, ..self }
    }

    /// The rate of AdamW, for parameters that are not matrices.
    #[must_use]
    pub fn adamw_rate(self, rate: f64) -> Muon {
        Muon { adamw_rate: rate, ..self }
    }
}

impl Rule for Muon {
    settings!();

    fn slots(&self, parameter: &Tensor) -> &'static [&'static str] {
        if parameter.rank() == 2 { &["momentum_buffer"] } else { self.adamw.slots(parameter) }
    }

    fn counts(&self) -> bool {
        true
    }

    fn apply(&self, parameter: &mut Tensor, gradient: &Tensor, slots: &mut [Tensor], now: &Now) {
        if parameter.rank() != 2 {
            // What schedule and group make of the rate; a rate of 0 moves nothing.
            let factor = if self.settings.rate == 0.0 { 0.0 } else { self.adamw_rate / self.settings.rate };
            let rate = now.rate.clone() * factor;
            return self.adamw.apply(parameter, gradient, slots, &Now { rate, ..now.clone() });
        }
        let momentum = &mut slots[0];
        combine(momentum, &Number::from(self.momentum), gradient, &Number::from(1.0 - self.momentum));
        let ahead = gradient * (1.0 - self.momentum) + &*momentum * self.momentum;
        let (rows, columns) = (parameter.size(0) as f64, parameter.size(1) as f64);
        now.decay_and_descend(parameter, &orthogonal(&ahead), Number::from((rows / columns).max(1.0).sqrt()));
    }
}

/// The nearest orthogonal matrix, approximately, by iterations of Newton and Schulz.
fn orthogonal(x: &Tensor) -> Tensor {
    let is_tall = x.size(0) > x.size(1);
    let x = if is_tall { x.t() } else { x.clone() };
    let [a, b, c] = QUINTIC;
    let start = &x / x.square().sum().sqrt().clamp_min(TINY);
    let y = (0..STEPS).fold(start, |x, _| {
        let square = x.matmul(&x.t());
        let polynomial = &square * b + square.matmul(&square) * c;
        &x * a + polynomial.matmul(&x)
    });
    if is_tall { y.t() } else { y }
}
