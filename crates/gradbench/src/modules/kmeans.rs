//! kmeans - the sum over points of the squared distance to the nearest centroid, and Newton's step: the gradient divided by the diagonal of
//! the Hessian, which is diagonal.

use super::{Module, Workload};
use crate::matrix::Matrix;
use crate::run::{Input, ensure_some, repeated};
use serde::Deserialize;
use serde_json::json;
use std::cell::RefCell;
use wengert::scalar::{Dual, Items, Real, Replay, Symbol};

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
    /// The numbers of centroids and of coordinates.
    size: (usize, usize),
    points: Vec<f64>,
    centroids: Vec<f64>,
    moved: RefCell<Replay<fn(&[Symbol]) -> [Symbol; 2]>>,
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
            moved: RefCell::new(Replay::record(moved as fn(&[Symbol]) -> [Symbol; 2], &vec![0.5; 2 * d])),
        })
    }
}

fn square_distance<T: Real>(centroid: &[T], point: &[T]) -> T {
    centroid.iter().zip(point).fold(T::lit(0.0), |sum, (c, p)| {
        let difference = *c - *p;
        sum + difference * difference
    })
}

/// The index of the nearest centroid, the first among equals.
fn nearest(centroids: &[f64], point: &[f64]) -> usize {
    let distances = centroids.chunks_exact(point.len()).map(|centroid| square_distance(centroid, point));
    let first = (0, f64::INFINITY);
    distances.enumerate().fold(first, |best, next| if next.1 < best.1 { next } else { best }).0
}

fn cost(problem: &Problem) -> f64 {
    let Problem { size: (_, dimensions), points, centroids, .. } = problem;
    points.chunks_exact(*dimensions).fold(0.0, |sum, point| {
        let own = dimensions * nearest(centroids, point);
        sum + square_distance(&centroids[own..own + dimensions], point)
    })
}

/// The squared distance of a point from its centroid, and its derivative along a vector of ones.
fn moved(inputs: &[Symbol]) -> [Symbol; 2] {
    let (centroid, point) = inputs.split_at(inputs.len() / 2);
    let centroid: Vec<Dual<Symbol, 1>> = centroid.iter().map(|c| Dual::new(*c, [Symbol::lit(1.0)])).collect();
    let point: Vec<Dual<Symbol, 1>> = point.iter().map(|p| Dual::new(*p, [Symbol::lit(0.0)])).collect();
    let distance = square_distance(&centroid, &point);
    [distance.value(), distance.tangents()[0]]
}

/// The gradient, and the gradient of the tangent along ones: the row sums of the Hessian. A small step does not change which centroid is
/// nearest, so that is found with plain numbers.
fn slopes_and_curvatures(problem: &Problem) -> (Vec<f64>, Vec<f64>) {
    let Problem { size: (_, d), points, centroids, moved } = problem;
    let own: Vec<u32> = points.chunks_exact(*d).map(|point| (d * nearest(centroids, point)) as u32).collect();
    let items = Items::of(points, *d).gathering(&own, *d);
    let (mut values, mut rows) = (vec![0.0; 2 * own.len()], vec![0.0; 2 * points.len()]);
    moved.borrow_mut().jacobians_over(centroids, &items, &mut values, &mut rows);
    let (mut slopes, mut curvatures) = (vec![0.0; centroids.len()], vec![0.0; centroids.len()]);
    for (own, rows) in own.iter().zip(rows.chunks_exact(2 * d)) {
        let places = *own as usize..*own as usize + d;
        slopes[places.clone()].iter_mut().zip(&rows[..*d]).for_each(|(sum, slope)| *sum += slope);
        curvatures[places].iter_mut().zip(&rows[*d..]).for_each(|(sum, slope)| *sum += slope);
    }
    (slopes, curvatures)
}

fn direction(problem: &Problem) -> Matrix {
    let (slopes, curvatures) = slopes_and_curvatures(problem);
    Matrix::new(problem.size, slopes.iter().zip(&curvatures).map(|(slope, curvature)| slope / curvature).collect())
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
