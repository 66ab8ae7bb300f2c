//! Means over paths and their derivatives, computed in two ways, with standard errors.
//!
//! Paths are processed in batches of equal size. With the means `m[b]` of `B` batches the estimate is their mean `m`, and the square of its
//! standard error is `sum (m[b] - m)^2 / (B (B - 1))`. This works for the price and for every derivative, without storing values of single
//! paths.

use super::Model;
use wengert::scalar::{Items, Real, Replay, Symbol, Var, recording};

/// The number of batches.
pub const BATCHES: usize = 64;

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// Its standard error: the root mean square distance from the expectation.
    pub error: f64,
}

impl Estimate {
    fn of(means: impl Iterator<Item = f64> + Clone) -> Estimate {
        let count = BATCHES as f64;
        let value = means.clone().sum::<f64>() / count;
        let squares: f64 = means.map(|mean| (mean - value).powi(2)).sum();
        Estimate { value, error: (squares / (count * (count - 1.0))).sqrt() }
    }

    /// The negated estimate.
    #[must_use]
    pub fn negated(self) -> Estimate {
        Estimate { value: -self.value, ..self }
    }

    /// The distance from a number, in standard errors.
    pub fn errors_from(self, expectation: f64) -> f64 {
        (self.value - expectation).abs() / self.error
    }
}

/// A mean, and its derivatives with respect to all parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    /// The mean.
    pub value: Estimate,
    /// Its derivatives, in the order of the parameters.
    pub slopes: Vec<Estimate>,
    /// The number of times that the model ran as a Rust function on recorded numbers.
    pub recordings: usize,
}

/// Estimates from a replay: one path is traced, and all paths run in lanes on all threads.
#[track_caller]
pub fn by_replay<M: Model>(model: &M, parameters: &[f64], draws: &[f64]) -> Estimates {
    let (count, width) = (parameters.len(), model.draws());
    let traced = |x: &[Symbol]| model.path(&x[..count], &x[count..]);
    let path = Replay::record(traced, &[parameters, &draws[..width]].concat());
    let batches = batches(parameters, draws, width, |draws, slopes| {
        path.sum_over_and_grad(parameters, &Items::of(draws, width), slopes)
    });
    estimates(&batches, path.recordings())
}

/// Estimates from a tape: every path is recorded, swept down to the parameters and discarded.
#[track_caller]
pub fn by_tape<M: Model>(model: &M, parameters: &[f64], draws: &[f64]) -> Estimates {
    let width = model.draws();
    let batches = batches(parameters, draws, width, |draws, slopes| {
        recording(|tape| {
            let inputs: Vec<Var> = parameters.iter().map(|x| tape.input(*x)).collect();
            let bytes = tape.bytes();
            let mut sum = 0.0;
            for draws in draws.chunks_exact(width) {
                tape.part(|| {
                    let draws: Vec<Var> = draws.iter().map(|draw| Var::lit(*draw)).collect();
                    let value = model.path(&inputs, &draws);
                    tape.seed(value, 1.0);
                    sum += value.value();
                });
            }
            assert_eq!(tape.bytes(), bytes, "a path stayed on the tape");
            slopes.iter_mut().zip(&inputs).for_each(|(slope, input)| *slope = tape.adjoint(*input));
            sum
        })
    });
    estimates(&batches, draws.len() / width)
}

/// The mean of each batch, followed by the means of its derivatives. `sum` returns the sum over the paths of some draws, and writes the
/// derivatives.
#[track_caller]
fn batches(
    parameters: &[f64],
    draws: &[f64],
    width: usize,
    mut sum: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Vec<Vec<f64>> {
    let paths = draws.len() / width;
    assert!(
        draws.len() == paths * width && paths >= BATCHES && paths.is_multiple_of(BATCHES),
        "{} draws are no {BATCHES} batches of paths with {width}",
        draws.len()
    );
    let size = paths / BATCHES;
    let mean = |draws: &[f64]| {
        let mut numbers = vec![0.0; 1 + parameters.len()];
        numbers[0] = sum(draws, &mut numbers[1..]);
        numbers.iter_mut().for_each(|number| *number /= size as f64);
        numbers
    };
    draws.chunks_exact(size * width).map(mean).collect()
}

fn estimates(batches: &[Vec<f64>], recordings: usize) -> Estimates {
    let column = |number: usize| Estimate::of(batches.iter().map(move |batch| batch[number]));
    Estimates { value: column(0), slopes: (1..batches[0].len()).map(column).collect(), recordings }
}
