//! The shared workloads: one training step each, of layers and optimisers, in the measured sizes and in small ones for tests.

mod cnn;
mod compiled;
mod elementwise;
mod gpt;
mod mlp;
mod optimiser;
mod rnn;

use optimiser::Optimiser;
use wengert::nn::Linear;
use wengert::nn::optimise::Memory;
use wengert::prelude::*;

pub use compiled::Steps;

/// The size of a workload; losses take their sizes from the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The measured size.
    Full,
    /// The same structure within milliseconds.
    Small,
    /// The size that is measured on accelerators.
    Large,
}

impl Size {
    fn of(self, full: usize, small: usize) -> usize {
        if self == Size::Small { small } else { full }
    }

    /// The same, with another number for accelerators.
    fn or_large(self, full: usize, small: usize, large: usize) -> usize {
        if self == Size::Large { large } else { self.of(full, small) }
    }
}

/// The sizes, the loss and the update of one workload.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// The shapes of the parameters in order; weights are stored `[out, in]`.
    parameters: Vec<Parameter>,
    arguments: Vec<Argument>,
    loss: fn(&[Tensor], &[Tensor]) -> Tensor,
    optimiser: Optimiser,
}

/// One parameter: its shape, and whether it is a gain that starts near 1.
struct Parameter {
    shape: Vec<usize>,
    is_gain: bool,
}

/// One argument of the loss.
enum Argument {
    Real(Vec<usize>),
    /// Integers below a bound.
    Whole(Vec<usize>, i64),
}

/// A layer with the next two parameters: weights and biases.
fn linear(parameters: &[Tensor]) -> Linear {
    Linear { weight: parameters[0].clone(), bias: Some(parameters[1].clone()) }
}

fn parameters(shapes: &[&[usize]]) -> Vec<Parameter> {
    shapes.iter().map(|shape| Parameter { shape: shape.to_vec(), is_gain: false }).collect()
}

/// Every workload, in the order of the tables.
///
/// ```
/// use wengert_bench::workloads::{Size, all};
/// assert_eq!(all(Size::Small)[0].name, "tiny_mlp");
/// ```
pub fn all(size: Size) -> Vec<Workload> {
    vec![mlp::tiny(), mlp::mlp(size), rnn::rnn(size), cnn::cnn(size), gpt::gpt(size), elementwise::elementwise(size)]
}

/// The workload with this name.
pub fn named(name: &str, size: Size) -> Option<Workload> {
    all(size).into_iter().find(|workload| workload.name == name)
}

/// A workload with its tensors, ready to run.
pub struct Training {
    workload: Workload,
    parameters: Vec<Tensor>,
    arguments: Vec<Tensor>,
    memory: Memory,
}

impl Workload {
    /// Starts from closed-form weights and data, so that any system can compute the same steps.
    pub fn start(self) -> Training {
        let scale = |parameter: &Parameter| match (self.name, &parameter.shape[..]) {
            ("elementwise", _) => 1.0,
            (_, [_]) => 0.1,
            (_, shape) => 1.0 / (shape[1..].iter().product::<usize>() as f64).sqrt(),
        };
        let weights = |(j, parameter): (usize, &Parameter)| {
            let (scale, shift) = (scale(parameter), if parameter.is_gain { 1.0 } else { 0.0 });
            let number = |i: usize| (shift + scale * (0.7 * i as f64 + 1.3 * j as f64 + 0.5).cos()) as f32;
            filled(&parameter.shape, number).require_grad()
        };
        let data = |(k, argument): (usize, &Argument)| match argument {
            Argument::Real(shape) => filled(shape, |i| (0.5 * i as f64 + 0.1 + k as f64).sin() as f32),
            Argument::Whole(shape, bound) => filled(shape, |i| (7 * i as i64 + 3 + 2 * k as i64) % bound),
        };
        let parameters: Vec<Tensor> = self.parameters.iter().enumerate().map(weights).collect();
        let arguments = self.arguments.iter().enumerate().map(data).collect();
        let memory = self.optimiser.start(&parameters);
        Training { workload: self, parameters, arguments, memory }
    }
}

fn filled<T>(shape: &[usize], number: impl Fn(usize) -> T) -> Tensor
where
    Tensor: From<Vec<T>>,
{
    Tensor::from((0..shape.iter().product()).map(number).collect::<Vec<T>>()).reshape(shape)
}

impl Training {
    /// The forward pass.
    pub fn loss(&self) -> Tensor {
        (self.workload.loss)(&self.parameters, &self.arguments)
    }

    /// The loss as a function of the parameters, and their current values.
    pub fn function(&self) -> (impl Fn(&Vec<Tensor>) -> Tensor, Vec<Tensor>) {
        let at = self.parameters.iter().map(Tensor::detach).collect();
        (|parameters: &Vec<Tensor>| (self.workload.loss)(parameters, &self.arguments), at)
    }

    /// Zeroes gradients, runs forward and backward, and returns the loss before the update.
    pub fn differentiate(&self) -> Tensor {
        self.parameters.iter().for_each(Tensor::zero_grad);
        let loss = self.loss();
        loss.backward();
        loss
    }

    /// One whole training step.
    pub fn step(&mut self) {
        self.differentiate();
        self.update();
    }

    fn update(&mut self) {
        self.workload.optimiser.step(&mut self.parameters, &mut self.memory);
    }

    /// The losses before the first and the tenth update, and the norm of the tenth gradient.
    pub fn ten_steps(&mut self) -> [f64; 3] {
        let (mut first, mut last, mut norm) = (0.0, 0.0, 0.0);
        for step in 0..10 {
            last = self.differentiate().item();
            if step == 0 {
                first = last;
            }
            let square = |gradient: Tensor| gradient.cast(DType::F64).square().sum().item();
            norm = self.parameters.iter().filter_map(Tensor::grad).map(square).sum::<f64>().sqrt();
            self.update();
        }
        [first, last, norm]
    }
}
