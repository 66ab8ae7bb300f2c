//! kmeans - the sum over points of the squared distance to the nearest centroid, and Newton's step: gradient over the diagonal of the
//! Hessian, which has nothing beside it.

use super::{Module, Workload};
use crate::matrix::Matrix;
use crate::run::{Input, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use wengert::scalar::{Dual, Real, Var, recording};

pub static MODULE: Module = Module {
    name: "kmeans",
    functions: &[("cost", |input| repeated(input, cost)), ("dir", |input| repeated(input, direction))],
    primal: Some("cost"),
    workloads,
};

#[derive(Deserialize)]
struct Fields {
    points: Matrix,
    centroids: Matrix,
}

struct Problem {
    /// Numbers of centroids and of their coordinates.
    size: (usize, usize),
    points: Vec<f64>,
    centroids: Vec<f64>,
}

impl Input for Problem {
    type Fields = Fields;

    fn check(fields: Fields) -> Result<Problem, String> {
        let Fields { points, centroids } = fields;
        let ((n, _), size @ (k, d)) = (points.size(), centroids.size());
        ensure_some("the number of points", n)?;
        ensure_some("the number of centroids", k)?;
        ensure_some("the number of coordinates", d)?;
        Ok(Problem {
            size,
            points: points.into_numbers("points", (n, d))?,
            centroids: centroids.into_numbers("centroids", size)?,
        })
    }
}

fn square_distance<T: Real>(centroid: &[T], point: &[f64]) -> T {
    centroid.iter().zip(point).fold(T::lit(0.0), |sum, (c, p)| {
        let difference = *c - T::lit(*p);
        sum + difference * difference
    })
}

/// The number of the nearest centroid, the first of several.
fn nearest(centroids: &[f64], point: &[f64]) -> usize {
    let distances = centroids.chunks_exact(point.len()).map(|centroid| square_distance(centroid, point));
    let first = (0, f64::INFINITY);
    distances.enumerate().fold(first, |best, next| if next.1 < best.1 { next } else { best }).0
}

/// Which centroid is nearest does not change with it: so that is found with plain numbers.
fn objective<T: Real>(centroids: &[T], points: &[f64], dimensions: usize) -> T {
    let places: Vec<f64> = centroids.iter().map(|c| c.to_f64()).collect();
    points.chunks_exact(dimensions).fold(T::lit(0.0), |sum, point| {
        let own = dimensions * nearest(&places, point);
        sum + square_distance(&centroids[own..own + dimensions], point)
    })
}

fn cost(problem: &Problem) -> f64 {
    objective(&problem.centroids, &problem.points, problem.size.1)
}

fn direction(problem: &Problem) -> Matrix {
    let (slopes, curvatures) = slopes_and_curvatures(problem);
    Matrix::new(problem.size, slopes.iter().zip(&curvatures).map(|(slope, curvature)| slope / curvature).collect())
}

/// The gradient, and the gradient of the tangent along ones: the sums of the Hessian's rows.
fn slopes_and_curvatures(problem: &Problem) -> (Vec<f64>, Vec<f64>) {
    let (mut slopes, mut curvatures) = (vec![0.0; problem.centroids.len()], vec![0.0; problem.centroids.len()]);
    recording(|tape| {
        let inputs: Vec<Var> = problem.centroids.iter().map(|c| tape.input(*c)).collect();
        let centroids: Vec<Dual<Var, 1>> = inputs.iter().map(|c| Dual::new(*c, [Var::lit(1.0)])).collect();
        let cost = objective(&centroids, &problem.points, problem.size.1);
        tape.pull(cost.value(), &inputs, &mut slopes);
        tape.pull(cost.tangents()[0], &inputs, &mut curvatures);
    });
    (slopes, curvatures)
}

fn workloads() -> Vec<Workload> {
    let one = |(k, n, d): (usize, usize, usize)| {
        Workload::new(format!("k={k},n={n},d={d}"), move |random| {
            let points = random.uniform_rows(n, d);
            json!({"centroids": points[n - k..], "points": points})
        })
    };
    let mut sizes: Vec<_> = [10, 100, 1000]
        .into_iter()
        .flat_map(|k| [1000, 10_000].map(|n| [8, 16].map(|d| (k, n, d))))
        .flatten()
        .collect();
    sizes.sort_by_key(|(k, n, d)| k * n * d);
    sizes.into_iter().map(one).collect()
}
