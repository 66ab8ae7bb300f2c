//! nuts-rs: a Poisson regression with group levels, whose log density is summed over items by a recording.
//!
//! Events are counted in five places, in eight years each. Each place has a level, and all share a trend:
//!
//! ```text
//! count ~ Poisson(exp(level[place] + trend * year))        level[place] = mean + spread * offset[place]
//! ```
//!
//! with standard normal offsets (the non-centred form). The mean is normal around 1 and the trend around 0, both with standard deviation 1;
//! the logarithm of the spread is normal around -0.7 with standard deviation 0.5.

use crate::chains::{self, Plan};
use std::array::from_fn;
use wengert::scalar::{Items, Real, Replay, Symbol};

/// The number of places.
pub const PLACES: usize = 5;
/// The mean, the logarithm of the spread, the trend, and an offset for each place.
pub const DIMENSIONS: usize = 3 + PLACES;
/// Names of the columns of [`Draws`].
pub const NAMES: [&str; DIMENSIONS] = ["mean", "spread", "trend", "A", "B", "C", "D", "E"];

/// One row per draw: the mean, the spread, the trend and the five levels.
pub type Draws = chains::Draws<DIMENSIONS>;

/// The centre and standard deviation of the prior of the mean, of the logarithm of the spread, of the trend, and of each offset.
pub fn prior(dimension: usize) -> (f64, f64) {
    match dimension {
        0 => (1.0, 1.0),
        1 => (-0.7, 0.5),
        _ => (0.0, 1.0),
    }
}

/// The eight years, from -0.7 to 0.7.
pub fn years() -> [f64; 8] {
    from_fn(|year| (2.0 * year as f64 - 7.0) / 10.0)
}

/// The counts in a place, year by year: an exponential trend, perturbed by a sine and rounded.
pub fn counts(place: usize) -> [f64; 8] {
    let level = [1.6, 0.7, 1.1, 2.1, 1.3][place];
    from_fn(|year| {
        let shake = 1.0 + 0.5 * ((8 * place + year) as f64 * 2.4).sin();
        ((level + 0.6 * years()[year]).exp() * shake).round()
    })
}

/// The log likelihood of one count up to a constant, given the mean, the logarithm of the spread, the trend, an offset, a year and a count.
pub fn log_likelihood<T: Real>(x: &[T]) -> T {
    let [mean, log_spread, trend, offset, year, count] = from_fn(|i| x[i]);
    let log_rate = mean + log_spread.exp() * offset + trend * year;
    count * log_rate - log_rate.exp()
}

/// The log density of the prior, up to a constant.
pub fn log_prior<T: Real>(x: &[T]) -> T {
    x.iter().enumerate().fold(T::lit(0.0), |sum, (dimension, x)| {
        let (centre, deviation) = prior(dimension);
        sum - T::lit(0.5) * ((*x - T::lit(centre)) / T::lit(deviation)).powi(2)
    })
}

/// The data, and the two parts of the log density, recorded once.
pub struct Posterior {
    /// The year and the count of each item.
    numbers: Vec<f64>,
    /// The position of the offset of each item's place among the parameters.
    offsets: Vec<u32>,
    likelihood: Replay<fn(&[Symbol]) -> Symbol>,
    prior: Replay<fn(&[Symbol]) -> Symbol>,
}

impl Default for Posterior {
    fn default() -> Self {
        let rows = |place| years().into_iter().zip(counts(place));
        Posterior {
            numbers: (0..PLACES).flat_map(rows).flat_map(|(year, count)| [year, count]).collect(),
            offsets: (0..PLACES).flat_map(|place| [(3 + place) as u32; 8]).collect(),
            likelihood: Replay::record(log_likelihood::<Symbol>, &[0.0; 6]),
            prior: Replay::record(log_prior::<Symbol>, &[0.0; DIMENSIONS]),
        }
    }
}

impl Posterior {
    /// The log density at a position up to a constant; its gradient is written to `slopes`.
    pub fn value_and_grad(&mut self, position: &[f64], slopes: &mut [f64]) -> f64 {
        let items = Items::of(&self.numbers, 2).sharing(3).gathering(&self.offsets, 1);
        let mut by_prior = [0.0; DIMENSIONS];
        let likelihood = self.likelihood.sum_over_and_grad(position, &items, slopes);
        let prior = self.prior.value_and_grad(position, &mut by_prior);
        slopes.iter_mut().zip(by_prior).for_each(|(slope, more)| *slope += more);
        likelihood + prior
    }

    /// How often a part of the density was recorded: two parts, once each, unless a branch changed.
    pub fn recordings(&self) -> usize {
        self.likelihood.recordings() + self.prior.recordings()
    }
}

/// The mean, the spread, the trend and the levels at a position of the sampler.
pub fn natural(position: &[f64]) -> [f64; DIMENSIONS] {
    let (mean, spread) = (position[0], position[1].exp());
    from_fn(|column| match column {
        0 | 2 => position[column],
        1 => spread,
        place => mean + spread * position[place],
    })
}

/// Draws from the posterior, and the number of recordings of its density.
pub fn sample(plan: Plan) -> (Draws, usize) {
    let mut posterior = Posterior::default();
    let draws = chains::sample(|position, slopes| posterior.value_and_grad(position, slopes), natural, plan);
    (draws, posterior.recordings())
}

/// The posterior means and variances of the columns of [`Draws`], without sampling. Given mean, spread and trend, the levels are
/// independent: a level's integral is one sum over a grid, and a sum over a three-dimensional grid remains. The trapezoidal rule is
/// practically exact for smooth functions that vanish at both ends.
pub fn exact_moments() -> ([f64; DIMENSIONS], [f64; DIMENSIONS]) {
    let grid = |from: f64, to: f64, points: usize| -> Vec<f64> {
        (0..points).map(|i| from + (to - from) * i as f64 / (points - 1) as f64).collect()
    };
    let levels = grid(-2.0, 4.0, 151);
    let log_prior = |dimension: usize, x: f64| {
        let (centre, deviation) = prior(dimension);
        -0.5 * ((x - centre) / deviation).powi(2)
    };
    let mut total = 0.0;
    let (mut first, mut second) = ([0.0; DIMENSIONS], [0.0; DIMENSIONS]);
    for trend in grid(-0.6, 1.8, 31) {
        let exposure: f64 = years().iter().map(|year| (trend * year).exp()).sum();
        // The likelihood of each level in each place, with a common factor removed so that numbers stay moderate.
        let likelihoods: [Vec<f64>; PLACES] = from_fn(|place| {
            let all: f64 = counts(place).iter().sum();
            let weighted: f64 = counts(place).iter().zip(years()).map(|(count, year)| count * year).sum();
            let height = all * (all / 8.0).ln() - all;
            let value = |level: &f64| (all * level + trend * weighted - level.exp() * exposure - height).exp();
            levels.iter().map(value).collect()
        });
        for log_spread in grid(-3.2, 1.6, 41) {
            let spread = log_spread.exp();
            for mean in grid(-2.5, 4.5, 61) {
                // Normal densities over the grid, and the level's first three moments in each place.
                let normal: Vec<f64> =
                    levels.iter().map(|level| (-0.5 * ((level - mean) / spread).powi(2)).exp() / spread).collect();
                let moments: [[f64; 3]; PLACES] = from_fn(|place| {
                    let mut sums = [0.0; 3];
                    for ((density, likelihood), level) in normal.iter().zip(&likelihoods[place]).zip(&levels) {
                        let weight = density * likelihood;
                        sums[0] += weight;
                        sums[1] += weight * level;
                        sums[2] += weight * level * level;
                    }
                    sums
                });
                let evidence: f64 = moments.iter().map(|sums| sums[0]).product();
                if evidence == 0.0 {
                    continue;
                }
                let prior = (log_prior(0, mean) + log_prior(1, log_spread) + log_prior(2, trend)).exp();
                let weight = evidence * prior;
                total += weight;
                for column in 0..DIMENSIONS {
                    let (x, square) = match column {
                        0 => (mean, mean * mean),
                        1 => (spread, spread * spread),
                        2 => (trend, trend * trend),
                        place => {
                            let [zeroth, first, second] = moments[place - 3];
                            (first / zeroth, second / zeroth)
                        }
                    };
                    first[column] += weight * x;
                    second[column] += weight * square;
                }
            }
        }
    }
    let means = first.map(|sum| sum / total);
    (means, from_fn(|column| second[column] / total - means[column].powi(2)))
}
