//! The modules of the benchmark: one module = one file and one line of [`MODULES`].

mod ba;
mod det;
mod gmm;
mod hello;
mod ht;
mod kmeans;
mod llsq;
mod lse;
mod lstm;
mod ode;
mod particle;
mod saddle;

use crate::random::Random;
use crate::run::Function;
use serde_json::Value;

/// Every module, in the order of the benchmark's description.
pub static MODULES: &[&Module] = &[
    &hello::MODULE,
    &llsq::MODULE,
    &lse::MODULE,
    &gmm::MODULE,
    &ba::MODULE,
    &ht::MODULE,
    &lstm::MODULE,
    &det::MODULE,
    &kmeans::MODULE,
    &ode::MODULE,
    &particle::MODULE,
    &saddle::MODULE,
];

/// The functions and workloads of an evaluation.
pub struct Module {
    /// The evaluation's name.
    pub name: &'static str,
    /// The functions with their names.
    pub functions: &'static [(&'static str, Function)],
    /// The function without derivatives, to whose time the others are compared.
    pub primal: Option<&'static str>,
    /// The inputs that the evaluation sends, small ones first.
    pub workloads: fn() -> Vec<Workload>,
}

impl Module {
    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<Function> {
        self.functions.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }
}

/// The module with this name.
pub fn module(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.name == name).copied()
}

/// An input of the size that the evaluation sends.
pub struct Workload {
    /// The evaluation's description of it.
    pub name: String,
    /// Makes the input.
    pub input: Box<dyn Fn(&mut Random) -> Value>,
}

impl Workload {
    fn new(name: String, input: impl Fn(&mut Random) -> Value + 'static) -> Workload {
        Workload { name, input: Box::new(input) }
    }
}

/// All pairs of sizes, sorted by product; equal products stay in order.
fn by_product<const M: usize, const N: usize>(first: [usize; M], second: [usize; N]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<_> = first.into_iter().flat_map(|a| second.into_iter().map(move |b| (a, b))).collect();
    pairs.sort_by_key(|(a, b)| a * b);
    pairs
}
