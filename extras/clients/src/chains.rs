//! nuts-rs: chains of draws from any log density that returns its value and gradient in one call.

use nuts_rs::rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use nuts_rs::{CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, sample_sequentially};
use std::collections::HashMap;
use std::fmt;

/// A log density of `D` numbers, with the interface of nuts-rs; it counts its calls.
struct Density<'f, F, const D: usize> {
    value_and_grad: &'f mut F,
    calls: &'f mut u64,
}

/// The density overflowed at this point: the sampler turns back.
#[derive(Debug)]
struct NotFinite;

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log density is not finite")
    }
}

impl std::error::Error for NotFinite {}

impl LogpError for NotFinite {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl<F, const D: usize> HasDims for Density<'_, F, D> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".into(), D as u64), ("dim".into(), D as u64)])
    }
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64, const D: usize> CpuLogpFunc for Density<'_, F, D> {
    type LogpError = NotFinite;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        D
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, NotFinite> {
        *self.calls += 1;
        Some((self.value_and_grad)(position, gradient)).filter(|value| value.is_finite()).ok_or(NotFinite)
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _: &mut R, position: &[f64]) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}

/// The result of a sampling run.
pub struct Draws<const D: usize> {
    /// One row per draw, in the reported units. The draws of a chain are consecutive.
    pub rows: Vec<[f64; D]>,
    /// The number of divergent trajectories after tuning.
    pub divergences: usize,
    /// The number of values with gradients that we computed, including tuning.
    pub calls: u64,
    /// The number of gradients that the sampler reports for its trajectories.
    pub reported: u64,
}

/// The number and length of the chains, which are drawn one after the other, each tuned first.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of chains.
    pub chains: u64,
    /// The number of tuning draws of each chain, which are discarded.
    pub tuning: u64,
    /// The number of draws of each chain after tuning.
    pub draws: u64,
    /// The random seed.
    pub seed: u64,
}

/// Draws from a log density of `D` unbounded numbers: `value_and_grad` returns its value at a position and writes its gradient, `natural`
/// converts a position to the reported numbers.
pub fn sample<const D: usize>(
    mut value_and_grad: impl FnMut(&[f64], &mut [f64]) -> f64,
    natural: impl Fn(&[f64]) -> [f64; D],
    plan: Plan,
) -> Draws<D> {
    let Plan { chains, tuning, draws, seed } = plan;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut settings = DiagNutsSettings { num_tune: tuning, num_draws: draws, ..Default::default() };
    // Short steps: hierarchical densities are narrow where the spread is small.
    settings.adapt_options.step_size_settings.target_accept = 0.9;
    let mut result = Draws { rows: Vec::new(), divergences: 0, calls: 0, reported: 0 };
    for chain in 0..chains {
        let density = Density::<_, D> { value_and_grad: &mut value_and_grad, calls: &mut result.calls };
        let start = [0.1 * chain as f64; D];
        let all = sample_sequentially(CpuMath::new(density), settings, &start, tuning + draws, chain, &mut rng)
            .expect("the density is finite at the start");
        for (number, draw) in all.enumerate() {
            let (position, progress) = draw.expect("the density has no errors that end a chain");
            result.reported += progress.num_gradients;
            if number as u64 >= tuning {
                result.divergences += usize::from(progress.diverging);
                result.rows.push(natural(&position));
            }
        }
    }
    result
}

impl<const D: usize> Draws<D> {
    /// The average of each column and its Monte Carlo error; see [`averages`].
    pub fn averages(&self, batches: usize) -> [(f64, f64); D] {
        averages(&self.rows, batches)
    }
}

/// The average of each column and its Monte Carlo error, from the averages of `batches` runs of consecutive draws, which are nearly
/// independent even though draws are not.
pub fn averages<const D: usize>(rows: &[[f64; D]], batches: usize) -> [(f64, f64); D] {
    let length = rows.len() / batches;
    std::array::from_fn(|column| {
        let of = |rows: &[[f64; D]]| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
        let parts: Vec<f64> = rows.chunks_exact(length).map(of).collect();
        let (count, mean) = (parts.len() as f64, of(rows));
        let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, (variance / count).sqrt())
    })
}
