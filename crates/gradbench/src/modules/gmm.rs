//! gmm - the log posterior of a mixture of k normal distributions in d dimensions, given n points and a Wishart prior.
//!
//! Component k has the weight alpha_k and the inverse root Q_k of its covariance, lower triangular, with diagonal exp(q_k):
//!
//! F = -n (d/2 log 2 pi + LSE(alpha)) + sum_i LSE_k(alpha_k + sum_j q_kj - 1/2 |Q_k (x_i - mu_k)|^2)
//!   + k C - sum_k (gamma^2/2 |Q_k|^2 - m sum_j q_kj).

use super::lse::log_sum_exp;
use super::{Module, Workload, by_product};
use crate::gradients::{gradient_of_sum, parts};
use crate::matrix::Matrix;
use crate::run::{Input, ensure, ensure_length, ensure_some, repeated};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::f64::consts::{LN_2, PI, TAU};
use std::iter::once;
use wengert::scalar::Real;

pub static MODULE: Module = Module {
    name: "gmm",
    functions: &[("objective", |input| repeated(input, objective)), ("jacobian", |input| repeated(input, jacobian))],
    primal: Some("objective"),
    workloads,
};

#[derive(Deserialize)]
struct Fields {
    d: usize,
    k: usize,
    n: usize,
    x: Matrix,
    m: u32,
    gamma: f64,
    alpha: Vec<f64>,
    mu: Matrix,
    q: Matrix,
    l: Matrix,
}

struct Problem {
    sizes: Sizes,
    /// n points of d numbers.
    points: Vec<f64>,
    m: f64,
    gamma: f64,
    /// alpha, mu, q and l, one after the other.
    parameters: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Sizes {
    dimensions: usize,
    components: usize,
    /// Numbers below the diagonal of a component's matrix.
    below: usize,
}

impl Sizes {
    /// alpha, mu, q and l of all parameters.
    fn split<T>(self, parameters: &[T]) -> [&[T]; 4] {
        let (alpha, rest) = parameters.split_at(self.components);
        let (mu, rest) = rest.split_at(self.components * self.dimensions);
        let (q, l) = rest.split_at(self.components * self.dimensions);
        [alpha, mu, q, l]
    }
}

impl Input for Problem {
    type Fields = Fields;

    fn check(fields: Fields) -> Result<Problem, String> {
        let Fields { d, k, n, x, m, gamma, alpha, mu, q, l } = fields;
        ensure_some("d", d)?;
        ensure_some("k", k)?;
        ensure_some("n", n)?;
        ensure(gamma > 0.0, "gamma must be positive")?;
        ensure_length("alpha", alpha.len(), k)?;
        let points = x.into_numbers("x", (n, d))?;
        let (mu, q) = (mu.into_numbers("mu", (k, d))?, q.into_numbers("q", (k, d))?);
        let below = d * (d - 1) / 2;
        let l = l.into_numbers("l", (k, below))?;
        let sizes = Sizes { dimensions: d, components: k, below };
        Ok(Problem { sizes, points, m: f64::from(m), gamma, parameters: [alpha, mu, q, l].concat() })
    }
}

/// The parameters, and what all points need of them.
struct Mixture<'a, T> {
    sizes: Sizes,
    alpha: &'a [T],
    mu: &'a [T],
    l: &'a [T],
    /// exp(q).
    diagonals: Vec<T>,
    /// The sum of each component's q.
    log_determinants: Vec<T>,
}

impl<'a, T: Real> Mixture<'a, T> {
    fn new(sizes: Sizes, parameters: &'a [T]) -> Mixture<'a, T> {
        let [alpha, mu, q, l] = sizes.split(parameters);
        let diagonals = q.iter().map(|q| q.exp()).collect();
        let log_determinants = q.chunks_exact(sizes.dimensions).map(T::sum_of).collect();
        Mixture { sizes, alpha, mu, l, diagonals, log_determinants }
    }

    /// The sum over points of LSE_k(..).
    fn log_likelihood(&self, points: &[f64]) -> T {
        let Sizes { dimensions, components, below } = self.sizes;
        let mut sum = T::lit(0.0);
        let mut scores = vec![T::lit(0.0); components];
        let mut from_mean = vec![T::lit(0.0); dimensions];
        let mut scaled = vec![T::lit(0.0); dimensions];
        for point in points.chunks_exact(dimensions) {
            for (k, score) in scores.iter_mut().enumerate() {
                let (mu, diagonal) = (&self.mu[k * dimensions..], &self.diagonals[k * dimensions..]);
                for j in 0..dimensions {
                    from_mean[j] = T::lit(point[j]) - mu[j];
                    scaled[j] = diagonal[j] * from_mean[j];
                }
                let mut columns = &self.l[k * below..][..below];
                for j in 0..dimensions {
                    let (column, others) = columns.split_at(dimensions - j - 1);
                    scaled[j + 1..].iter_mut().zip(column).for_each(|(y, l)| *y += *l * from_mean[j]);
                    columns = others;
                }
                *score = self.alpha[k] + self.log_determinants[k] - T::lit(0.5) * squares(&scaled);
            }
            sum += log_sum_exp(&scores);
        }
        sum
    }

    /// Everything else.
    fn prior(&self, problem: &Problem) -> T {
        let (d, k) = (self.sizes.dimensions as f64, self.sizes.components as f64);
        let n = (problem.points.len() / self.sizes.dimensions) as f64;
        let nu = d + problem.m + 1.0;
        let constant = nu * d * (problem.gamma.ln() - 0.5 * LN_2) - log_gamma(0.5 * nu, self.sizes.dimensions);
        let norm = squares(&self.diagonals) + squares(self.l);
        let log_determinants = T::sum_of(&self.log_determinants);
        T::lit(k * constant - 0.5 * n * d * TAU.ln())
            - T::lit(n) * log_sum_exp(self.alpha)
            - T::lit(0.5 * problem.gamma * problem.gamma) * norm
            + T::lit(problem.m) * log_determinants
    }
}

fn squares<T: Real>(x: &[T]) -> T {
    x.iter().fold(T::lit(0.0), |sum, x| sum + *x * *x)
}

/// The logarithm of the gamma function of some dimensions.
fn log_gamma(a: f64, dimensions: usize) -> f64 {
    let d = dimensions as f64;
    let terms = (0..dimensions).map(|j| Real::ln_gamma(a - 0.5 * j as f64));
    0.25 * d * (d - 1.0) * PI.ln() + terms.sum::<f64>()
}

fn objective(problem: &Problem) -> f64 {
    let mixture = Mixture::new(problem.sizes, &problem.parameters);
    mixture.prior(problem) + mixture.log_likelihood(&problem.points)
}

#[derive(Serialize)]
struct Jacobian {
    alpha: Vec<f64>,
    mu: Matrix,
    q: Matrix,
    l: Matrix,
}

fn jacobian(problem: &Problem) -> Jacobian {
    let Sizes { dimensions, components, below } = problem.sizes;
    let slopes = gradient(problem);
    let [alpha, mu, q, l] = problem.sizes.split(&slopes);
    let rows = |width, numbers: &[f64]| Matrix::new((components, width), numbers.to_vec());
    Jacobian { alpha: alpha.to_vec(), mu: rows(dimensions, mu), q: rows(dimensions, q), l: rows(below, l) }
}

/// By all parameters: of the prior, and of some points at a time.
fn gradient(problem: &Problem) -> Vec<f64> {
    let Sizes { dimensions, components, .. } = problem.sizes;
    let statements = components * dimensions * (dimensions + 4);
    let points = parts(problem.points.len() / dimensions, statements, problem.parameters.len());
    gradient_of_sum(&problem.parameters, once(None).chain(points.map(Some)), |parameters, part| {
        let mixture = Mixture::new(problem.sizes, parameters);
        match part {
            None => mixture.prior(problem),
            Some(points) => mixture.log_likelihood(&problem.points[points.start * dimensions..points.end * dimensions]),
        }
    })
}

fn workloads() -> Vec<Workload> {
    let n = 1000;
    let one = |(d, k): (usize, usize)| {
        Workload::new(format!("{d}_{k}_{n}"), move |random| {
            json!({
                "d": d, "k": k, "n": n, "x": random.normal_rows(n, d), "m": 0, "gamma": 1.0, "alpha": random.normal(k),
                "mu": random.uniform_rows(k, d), "q": random.normal_rows(k, d), "l": random.normal_rows(k, d * (d - 1) / 2),
            })
        })
    };
    by_product([2, 10, 20, 32, 64], [5, 10, 25, 50, 100]).into_iter().map(one).collect()
}
