//! nuts-rs: the posterior of eight schools, with the value and gradient of its log density in one call.
//!
//! Eight schools measured the effect of coaching on a test, each with a known standard error (Rubin 1981). The effects are drawn around a
//! common mean, with a common spread: `effect[j] = mean + spread * offset[j]`, with standard normal offsets (the non-centred form). The
//! mean is normal around 0 with standard deviation 5, the spread is half-Cauchy with scale 5.

use crate::chains::Plan;
use wengert::prelude::*;

/// The measured effects.
pub const MEASURED: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
/// Their standard errors.
pub const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
/// The standard deviation of the prior of the mean, and the scale of the prior of the spread.
const PRIOR: f64 = 5.0;
/// The mean, the logarithm of the spread, eight offsets.
const DIMENSIONS: usize = 10;

/// The parameters, unbounded as a sampler needs them; also the gradient with respect to them.
#[derive(Tree)]
pub struct Schools {
    /// The common mean.
    pub mean: Tensor,
    /// The logarithm of the spread around it.
    pub log_spread: Tensor,
    /// Each school's distance from the mean, in units of the spread.
    pub offsets: Tensor,
}

impl Schools {
    /// From a flat array: the mean, the logarithm of the spread and the offsets.
    pub fn from_slice(flat: &[f64]) -> Schools {
        Schools { mean: flat[0].into(), log_spread: flat[1].into(), offsets: flat[2..].to_vec().into() }
    }

    /// Converts back to a flat array.
    pub fn to_vec(&self) -> Vec<f64> {
        self.leaves().into_iter().flat_map(Tensor::to_vec::<f64>).collect()
    }
}

/// The data as tensors, and the log density of the parameters given them.
pub struct Posterior {
    measured: Tensor,
    errors: Tensor,
}

impl Default for Posterior {
    fn default() -> Self {
        Posterior { measured: MEASURED.into(), errors: ERRORS.into() }
    }
}

impl Posterior {
    /// The log density, up to a constant. The last term is the change of variables from the spread to its logarithm.
    pub fn log_density(&self, at: &Schools) -> Tensor {
        let spread = at.log_spread.exp();
        let effects = &at.mean + &spread * &at.offsets;
        let misfit = ((&self.measured - effects) / &self.errors).square().sum();
        let normal = misfit + (&at.mean / PRIOR).square() + at.offsets.square().sum();
        normal * -0.5 - (spread / PRIOR).square().log1p() + &at.log_spread
    }
}

/// One row per draw: the mean, the spread, the eight effects.
pub type Draws = crate::chains::Draws<DIMENSIONS>;

/// Names of the columns of [`Draws`].
pub const NAMES: [&str; DIMENSIONS] = ["mean", "spread", "A", "B", "C", "D", "E", "F", "G", "H"];

/// Draws from the posterior: `chains` chains one after the other, each tuned first.
pub fn sample(chains: u64, tuning: u64, draws: u64, seed: u64) -> Draws {
    let posterior = Posterior::default();
    let value_and_slope = compile(value_and_grad(move |at: &Schools| posterior.log_density(at)));
    let density = |position: &[f64], gradient: &mut [f64]| {
        let (value, slope) = value_and_slope.call(&Schools::from_slice(position));
        gradient.copy_from_slice(&slope.to_vec());
        value.item()
    };
    crate::chains::sample(density, natural, Plan { chains, tuning, draws, seed })
}

/// The mean, the spread and the effects at a position of the sampler.
fn natural(position: &[f64]) -> [f64; DIMENSIONS] {
    let (mean, spread) = (position[0], position[1].exp());
    std::array::from_fn(|column| match column {
        0 => mean,
        1 => spread,
        school => mean + spread * position[school],
    })
}

/// The posterior means of the columns of [`Draws`], without sampling. Given the spread t everything is normal: school j measures the mean
/// with variance `errors[j]^2 + t^2`. An integral over t remains, computed over its logarithm by the trapezoidal rule.
pub fn exact_means() -> [f64; DIMENSIONS] {
    let mut total = 0.0;
    let mut sums = [0.0; DIMENSIONS];
    for step in -12_000..8_000 {
        let spread = (f64::from(step) * 1e-3).exp();
        let variances = ERRORS.map(|error| error * error + spread * spread);
        let precision = 1.0 / (PRIOR * PRIOR) + variances.iter().map(|v| 1.0 / v).sum::<f64>();
        let mean = MEASURED.iter().zip(&variances).map(|(y, v)| y / v).sum::<f64>() / precision;
        let squares = MEASURED.iter().zip(&variances).map(|(y, v)| y * y / v + v.ln()).sum::<f64>();
        let evidence = 0.5 * (mean * mean * precision - squares - precision.ln());
        let prior = 1.0 / (1.0 + (spread / PRIOR).powi(2));
        // d spread = spread d log spread.
        let weight = evidence.exp() * prior * spread;
        total += weight;
        for (column, sum) in sums.iter_mut().enumerate() {
            *sum += weight
                * match column {
                    0 => mean,
                    1 => spread,
                    school => {
                        let (y, error) = (MEASURED[school - 2], ERRORS[school - 2]);
                        (y * spread * spread + mean * error * error) / variances[school - 2]
                    }
                };
        }
    }
    sums.map(|sum| sum / total)
}
