//! Parameter updates in place.

use wengert::fused::*;
use wengert::prelude::*;

const RATE: f64 = 1e-3;
const DECAY: f64 = 0.01;
const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const TINY: f64 = 1e-8;

/// How parameters are updated from their gradients.
#[derive(Clone, Copy)]
pub enum Optimiser {
    None,
    /// p -= rate g.
    Sgd,
    /// Adam with decoupled weight decay.
    AdamW,
}

/// The state of an optimiser: its step count, and two moments of the gradient for each parameter.
pub struct State {
    optimiser: Optimiser,
    moments: Vec<[Tensor; 2]>,
    steps: i32,
}

impl Optimiser {
    pub fn start(self, parameters: &[Tensor]) -> State {
        let moments = match self {
            Optimiser::AdamW => parameters.iter().map(|p| [0, 1].map(|_| Tensor::full(p.shape(), 0f32))).collect(),
            Optimiser::None | Optimiser::Sgd => Vec::new(),
        };
        State { optimiser: self, moments, steps: 0 }
    }
}

impl State {
    pub fn update(&mut self, parameters: &mut [Tensor]) {
        no_grad(|| match self.optimiser {
            Optimiser::None => {}
            Optimiser::Sgd => parameters.iter_mut().for_each(descend),
            Optimiser::AdamW => {
                self.steps += 1;
                for (parameter, moments) in parameters.iter_mut().zip(&mut self.moments) {
                    adapt(parameter, moments, self.steps);
                }
            }
        });
    }
}

/// The state of an optimiser in a compiled step, where everything that changes is a tensor.
#[derive(Tree)]
pub struct Memory {
    moments: Vec<[Tensor; 2]>,
    /// The powers of the two decay rates of the moments.
    powers: Tensor,
}

impl Optimiser {
    pub fn memory(self, parameters: &[Tensor]) -> Memory {
        Memory { moments: self.start(parameters).moments, powers: Tensor::from([1.0, 1.0]) }
    }

    /// The parameters after one step, as operations that can be traced.
    pub fn updated(self, parameters: &mut [Tensor], gradients: &[Tensor], memory: &mut Memory) {
        match self {
            Optimiser::None => {}
            Optimiser::Sgd => {
                for (parameter, gradient) in parameters.iter_mut().zip(gradients) {
                    parameter.combine_assign(1.0, gradient, -RATE);
                }
            }
            Optimiser::AdamW => {
                memory.powers *= Tensor::from([FIRST, SECOND]);
                let parts = 1.0 - &memory.powers;
                let (mean_part, root_part) = (parts.slice(0), parts.slice(1).sqrt());
                let rate = (&root_part / mean_part * RATE).cast(DType::F32);
                let tiny = (root_part * TINY).cast(DType::F32);
                for ((parameter, gradient), [mean, square]) in
                    parameters.iter_mut().zip(gradients).zip(&mut memory.moments)
                {
                    mean.combine_assign(FIRST, gradient, 1.0 - FIRST);
                    square.combine_square_assign(SECOND, gradient, 1.0 - SECOND);
                    let step = &*mean / (square.sqrt() + &tiny) * &rate;
                    parameter.combine_assign(1.0 - RATE * DECAY, &step, -1.0);
                }
            }
        }
    }
}

fn descend(parameter: &mut Tensor) {
    let Some(gradient) = parameter.take_grad() else { return };
    parameter.combine_assign(1.0, &gradient, -RATE);
}

/// m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2,   p -= rate (decay p + m' / (sqrt(v') + tiny)),   ' unbiased.
fn adapt(parameter: &mut Tensor, [mean, square]: &mut [Tensor; 2], steps: i32) {
    let Some(gradient) = parameter.take_grad() else { return };
    mean.combine_assign(FIRST, &gradient, 1.0 - FIRST);
    square.combine_square_assign(SECOND, &gradient, 1.0 - SECOND);
    let (mean_part, root_part) = (1.0 - FIRST.powi(steps), (1.0 - SECOND.powi(steps)).sqrt());
    // m' / (sqrt(v') + tiny) with the bias corrections of both taken out of the quotient.
    let step = mean.over_root(&*square, TINY * root_part);
    parameter.combine_assign(1.0 - RATE * DECAY, &step, -RATE * root_part / mean_part);
}
