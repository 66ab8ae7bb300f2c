//! gmm - the log posterior of a mixture of k normal distributions in d dimensions, given n points and a Wishart prior.
//!
//! Component k has the weight alpha_k and the inverse square root Q_k of its covariance, lower triangular, with diagonal exp(q_k):
//!
//! F = -n (d/2 log 2 pi + LSE(alpha)) + sum_i LSE_k(alpha_k + sum_j q_kj - 1/2 |Q_k (x_i - mu_k)|^2)
//!   + k C - sum_k (gamma^2/2 |Q_k|^2 - m sum_j q_kj).
//!
//! All Q_k (x_i - mu_k) are one matrix product: `[Q_k, -Q_k mu_k]` times the points, each with a one appended.

use super::lse::log_sum_exp;
use super::{Module, Workload, by_product};
use crate::compiled::{compiled, lists};
use crate::matrix::Matrix;
use crate::run::{Input, ensure, ensure_length, ensure_some, prepared};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::f64::consts::{LN_2, PI, TAU};
use std::hint::black_box;
use std::rc::Rc;
use wengert::methods::*;
use wengert::scalar::Real;
use wengert::{Tensor, Tree, grad};

pub static MODULE: Module = Module {
    name: "gmm",
    functions: &[("objective", |input| prepared(input, objective)), ("jacobian", |input| prepared(input, jacobian))],
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

/// The parameters to differentiate by.
#[derive(Serialize, Tree)]
struct Parameters {
    /// `f64[k]`.
    #[serde(serialize_with = "lists")]
    alpha: Tensor,
    /// `f64[k, d]`.
    #[serde(serialize_with = "lists")]
    mu: Tensor,
    /// `f64[k, d]`.
    #[serde(serialize_with = "lists")]
    q: Tensor,
    /// `f64[k, d (d - 1) / 2]`: below each diagonal, column by column.
    #[serde(serialize_with = "lists")]
    l: Tensor,
}

struct Problem {
    mixture: Mixture,
    /// `f64[d + 1, n]`: a point is a column, with a one appended.
    points: Tensor,
    parameters: Parameters,
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
        let x = x.into_numbers("x", (n, d))?;
        let tensor = |name: &str, matrix: Matrix, width: usize| {
            matrix.into_numbers(name, (k, width)).map(|numbers| Tensor::from_vec(numbers, [k, width]))
        };
        let (mu, q, l) = (tensor("mu", mu, d)?, tensor("q", q, d)?, tensor("l", l, d * (d - 1) / 2)?);
        let columns = (0..d).flat_map(|j| x.iter().skip(j).step_by(d).copied());
        let points = Tensor::from_vec(columns.chain((0..n).map(|_| 1.0)).collect(), [d + 1, n]);
        let parameters = Parameters { alpha: Tensor::from_vec(alpha, [k]), mu, q, l };
        let mixture = Mixture { dimensions: d, components: k, points: n, m: f64::from(m), gamma, places: places(d) };
        Ok(Problem { mixture, points, parameters })
    }
}

/// The positions of the entries of a triangular root in its diagonal followed by the entries below it and a zero.
fn places(dimensions: usize) -> Tensor {
    let zero = dimensions * (dimensions + 1) / 2;
    let mut below = dimensions..;
    let mut places = vec![zero as i64; dimensions * dimensions];
    for j in 0..dimensions {
        places[j * dimensions + j] = j as i64;
        for (i, place) in (j + 1..dimensions).zip(&mut below) {
            places[i * dimensions + j] = place as i64;
        }
    }
    Tensor::from_vec(places, [dimensions * dimensions])
}

/// Sizes, the prior and [`places`].
struct Mixture {
    dimensions: usize,
    components: usize,
    points: usize,
    m: f64,
    gamma: f64,
    places: Tensor,
}

impl Mixture {
    /// The part that depends on the parameters.
    fn posterior(&self, points: &Tensor, parameters: &Parameters) -> Tensor {
        let Parameters { alpha, mu, q, l } = parameters;
        let (k, d) = (self.components, self.dimensions);
        let diagonals = q.exp();
        let entries = Tensor::concat(&[&diagonals, l, &Tensor::zeros([k, 1])], 1);
        let roots = entries.index_select(1, &self.places).reshape([k, d, d]);
        let means = roots.matmul(&mu.unsqueeze(2));
        let from_mean = Tensor::concat(&[roots, -means], 2).matmul(points);
        let weights = alpha + q.sum_over(1);
        let scores = weights.unsqueeze(1) - from_mean.square().sum_over(1) * 0.5;
        let likelihood = log_sum_exp(&scores, 0).sum() - log_sum_exp(alpha, 0) * self.points as f64;
        let norm = diagonals.square().sum() + l.square().sum();
        likelihood - norm * (0.5 * self.gamma * self.gamma) + q.sum() * self.m
    }

    /// The part that does not.
    fn constant(&self) -> f64 {
        let (d, k, n) = (self.dimensions as f64, self.components as f64, self.points as f64);
        let nu = d + self.m + 1.0;
        let wishart = nu * d * (self.gamma.ln() - 0.5 * LN_2) - log_gamma(0.5 * nu, self.dimensions);
        k * wishart - 0.5 * n * d * TAU.ln()
    }
}

/// The logarithm of the multivariate gamma function.
fn log_gamma(a: f64, dimensions: usize) -> f64 {
    let d = dimensions as f64;
    let terms = (0..dimensions).map(|j| Real::ln_gamma(a - 0.5 * j as f64));
    0.25 * d * (d - 1.0) * PI.ln() + terms.sum::<f64>()
}

fn objective(problem: Problem) -> impl Fn() -> f64 {
    let Problem { mixture, points, parameters } = problem;
    let mixture = Rc::new(mixture);
    let traced = mixture.clone();
    let posterior = compiled((points, parameters), move |(points, parameters): &(Tensor, Parameters)| {
        traced.posterior(points, parameters)
    });
    move || posterior().item() + black_box(&mixture).constant()
}

fn jacobian(problem: Problem) -> impl Fn() -> Parameters {
    let Problem { mixture, points, parameters } = problem;
    compiled((points, parameters), move |(points, parameters): &(Tensor, Parameters)| {
        grad(|parameters: &Parameters| mixture.posterior(points, parameters))(parameters)
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
