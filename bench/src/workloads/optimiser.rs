//! Updates of the parameters, by the rules of `wengert::nn`.

use wengert::nn::optimise::{AdamW, Memory, Optimiser as _, Sgd};
use wengert::prelude::*;

const RATE: f64 = 1e-3;

/// How parameters are updated from their gradients.
#[derive(Clone, Copy, PartialEq)]
pub enum Optimiser {
    None,
    Sgd,
    AdamW,
}

impl Optimiser {
    pub fn start(self, parameters: &Vec<Tensor>) -> Memory {
        match self {
            Optimiser::None | Optimiser::Sgd => Sgd::new(RATE).start(parameters),
            Optimiser::AdamW => AdamW::new(RATE).start(parameters),
        }
    }

    pub fn update(self, parameters: &mut Vec<Tensor>, gradients: &Vec<Tensor>, memory: &mut Memory) {
        match self {
            Optimiser::None => {}
            Optimiser::Sgd => Sgd::new(RATE).update(parameters, gradients, memory),
            Optimiser::AdamW => AdamW::new(RATE).update(parameters, gradients, memory),
        }
    }

    /// An update with the gradients that the parameters accumulated.
    pub fn step(self, parameters: &mut Vec<Tensor>, memory: &mut Memory) {
        match self {
            Optimiser::None => {}
            Optimiser::Sgd => Sgd::new(RATE).step(parameters, memory),
            Optimiser::AdamW => AdamW::new(RATE).step(parameters, memory),
        }
    }
}
