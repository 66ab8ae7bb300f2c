//! ba - bundle adjustment: compares where cameras see points with where they were observed.
//!
//! A camera has a rotation vector (axis times angle), a centre, a focal length f, a principal point and two coefficients of radial
//! distortion. A point is translated by the camera's centre, rotated, divided by its depth, distorted, scaled and shifted; the errors are
//! weighted. A weight w adds the error 1 - w^2.

use super::{Module, Workload};
use crate::run::{Input, ensure, ensure_some, repeated, rewritten};
use serde::ser::{Error, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::RefCell;
use wengert::scalar::{Dual, Items, Real, Replay, Symbol};

pub static MODULE: Module = Module {
    name: "ba",
    functions: &[("objective", |input| repeated(input, objective)), ("jacobian", |input| rewritten(input, jacobian))],
    primal: Some("objective"),
    workloads,
};

/// The sizes of a camera and of a point, the position of the weight after them, and the number of values that an observation depends on.
const CAMERA: usize = 11;
const POINT: usize = 3;
const WEIGHT: usize = CAMERA + POINT;
const INPUTS: usize = WEIGHT + 1;

/// The most cameras, points or observations: more do not fit into memory.
const MOST: usize = 10_000_000;

#[derive(Deserialize)]
struct Fields {
    n: usize,
    m: usize,
    p: usize,
    cam: [f64; CAMERA],
    x: [f64; POINT],
    w: f64,
    feat: [f64; 2],
}

/// Observation i is of point i mod m by camera i mod n.
struct Problem {
    n: usize,
    m: usize,
    /// Cameras, points and weights, one after the other.
    parameters: Vec<f64>,
    features: Vec<f64>,
    /// The positions where the camera, the point and the weight of each observation begin.
    places: [Vec<u32>; 3],
    errors: RefCell<Replay<fn(&[Symbol]) -> [Symbol; 2]>>,
}

impl Problem {
    fn observations(&self) -> Items<'_> {
        let [cameras, points, weights] = &self.places;
        Items::of(&self.features, 2).gathering(cameras, CAMERA).gathering(points, POINT).gathering(weights, 1)
    }

    fn weights(&self) -> &[f64] {
        &self.parameters[CAMERA * self.n + POINT * self.m..]
    }
}

impl Input for Problem {
    type Fields = Fields;

    fn check(fields: Fields) -> Result<Problem, String> {
        let Fields { n, m, p, cam, x, w, feat } = fields;
        for (name, size) in [("n", n), ("m", m), ("p", p)] {
            ensure_some(name, size)?;
            ensure(size <= MOST, format!("{name} must be at most {MOST}"))?;
        }
        let (points, weights) = (CAMERA * n, CAMERA * n + POINT * m);
        let places = |place: &dyn Fn(usize) -> usize| (0..p).map(|i| place(i) as u32).collect();
        let recorded =
            Replay::record(reprojection_error as fn(&[Symbol]) -> [Symbol; 2], &[&cam[..], &x, &[w], &feat].concat());
        Ok(Problem {
            n,
            m,
            parameters: [cam.repeat(n), x.repeat(m), vec![w; p]].concat(),
            features: feat.repeat(p),
            places: [places(&|i| CAMERA * (i % n)), places(&|i| points + POINT * (i % m)), places(&|i| weights + i)],
            errors: RefCell::new(recorded),
        })
    }
}

/// The errors of an observation, from its camera, point, weight and feature.
fn reprojection_error<T: Real>(observation: &[T]) -> [T; 2] {
    let &[r1, r2, r3, c1, c2, c3, focal, u0, v0, k1, k2, x1, x2, x3, weight, u, v] = observation else {
        unreachable!("an observation has 17 numbers")
    };
    let from_centre = [x1 - c1, x2 - c2, x3 - c3];
    let [x, y, depth] = rotate([r1, r2, r3], from_centre);
    let (x, y) = (x / depth, y / depth);
    let square = x * x + y * y;
    let distortion = T::lit(1.0) + square * (k1 + k2 * square);
    let seen = [focal * (x * distortion) + u0, focal * (y * distortion) + v0];
    [weight * (seen[0] - u), weight * (seen[1] - v)]
}

/// Rotates a vector about an axis, by an angle equal to the axis' length (Rodrigues' formula).
fn rotate<T: Real>(axis: [T; 3], v: [T; 3]) -> [T; 3] {
    let square = dot(axis, axis);
    if square == T::lit(0.0) {
        let turned = cross(axis, v);
        return [v[0] + turned[0], v[1] + turned[1], v[2] + turned[2]];
    }
    let angle = square.sqrt();
    let (cos, sin) = (angle.cos(), angle.sin());
    let axis = axis.map(|r| r / angle);
    let (across, along) = (cross(axis, v), dot(axis, v) * (T::lit(1.0) - cos));
    std::array::from_fn(|i| v[i] * cos + across[i] * sin + axis[i] * along)
}

fn dot<T: Real>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross<T: Real>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn weight_error<T: Real>(weight: T) -> T {
    T::lit(1.0) - weight * weight
}

/// The errors of all observations, two for each, and of all weights; the answer shows the first of each kind.
struct Errors {
    reprojections: Vec<f64>,
    weights: Vec<f64>,
}

impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = json!({
            "reproj_error": {"elements": self.reprojections[..2], "repeated": self.weights.len()},
            "w_err": {"element": self.weights[0], "repeated": self.weights.len()},
        });
        shown.serialize(serializer)
    }
}

fn objective(problem: &Problem) -> Errors {
    let mut reprojections = vec![0.0; problem.features.len()];
    problem.errors.borrow_mut().map_over(&problem.parameters, &problem.observations(), &mut reprojections);
    Errors { reprojections, weights: problem.weights().iter().map(|weight| weight_error(*weight)).collect() }
}

fn weight_slope(weight: f64) -> f64 {
    weight_error(Dual::<f64, 1>::variable(weight, 0)).tangents()[0]
}

/// A sparse matrix by rows: where each row begins, columns and values. The answer shows the beginning and the end of each list.
#[derive(Default, Serialize)]
struct Sparse {
    /// The errors that the rows are derivatives of.
    #[serde(skip)]
    errors: Vec<f64>,
    #[serde(serialize_with = "first_and_last")]
    rows: Vec<usize>,
    #[serde(serialize_with = "first_and_last")]
    cols: Vec<u32>,
    #[serde(serialize_with = "first_and_last")]
    vals: Vec<f64>,
}

/// The first 30 entries and the last.
fn first_and_last<T: Serialize, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let ([first @ .., last], 31..) = (list, list.len()) else {
        return Err(Error::custom("30 entries and the last are shown: p must be at least 10"));
    };
    let mut shown = serializer.serialize_seq(Some(31))?;
    for entry in first[..30].iter().chain([last]) {
        shown.serialize_element(entry)?;
    }
    shown.end()
}

/// The Jacobian of the errors of all observations by cameras, points and weights; then of the errors of the weights.
fn jacobian(problem: &Problem, Sparse { errors, rows, cols, vals }: &mut Sparse) {
    let observations = problem.observations();
    let count = observations.len();
    errors.resize(2 * count, 0.0);
    vals.resize((2 * INPUTS + 1) * count, 0.0);
    let (reprojections, by_weights) = vals.split_at_mut(2 * INPUTS * count);
    problem.errors.borrow_mut().jacobians_over(&problem.parameters, &observations, errors, reprojections);
    by_weights.iter_mut().zip(problem.weights()).for_each(|(slope, weight)| *slope = weight_slope(*weight));
    cols.clear();
    cols.reserve_exact(vals.len());
    let [cameras, points, weights] = &problem.places;
    for ((camera, point), weight) in cameras.iter().zip(points).zip(weights) {
        let own: [u32; INPUTS] = std::array::from_fn(|place| match place {
            0..CAMERA => camera + place as u32,
            CAMERA..WEIGHT => point + (place - CAMERA) as u32,
            _ => *weight,
        });
        cols.extend_from_slice(&own);
        cols.extend_from_slice(&own);
    }
    cols.extend(weights);
    rows.clear();
    rows.extend((0..=2 * count).map(|row| row * INPUTS));
    rows.extend((1..=count).map(|row| 2 * count * INPUTS + row));
}

fn workloads() -> Vec<Workload> {
    let sizes = [
        (49, 7776, 31843),
        (21, 11315, 36455),
        (161, 48126, 182072),
        (372, 47423, 204472),
        (257, 65132, 225911),
        (539, 65220, 277273),
        (93, 61203, 287451),
        (88, 64298, 383937),
        (810, 88814, 393775),
        (1197, 126327, 563734),
        (1723, 156502, 678718),
        (253, 163691, 899155),
        (245, 198739, 1091386),
        (356, 226730, 1255268),
    ];
    let one = |(i, (n, m, p)): (usize, (usize, usize, usize))| {
        Workload::new(format!("ba{}_n{n}_m{m}_p{p}", i + 1), move |random| {
            let (axis, centre, feature) = (random.normal(3), random.normal(3), random.normal(2));
            let camera = [axis, centre, vec![400.0, 5.0, -8.0, 0.1, 0.003]].concat();
            json!({"n": n, "m": m, "p": p, "cam": camera, "x": [9.0, -7.0, 11.0], "w": random.number(), "feat": feature})
        })
    };
    sizes.into_iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The answer only shows the first camera and point; this test compares all.
    #[test]
    fn the_whole_matrix_is_that_of_the_example() {
        let examples: Value = serde_json::from_str(include_str!("../../tests/examples/ba.json")).unwrap();
        let Value::Object(example) = &examples["jacobian_p4_full"] else { panic!("no example") };
        let fields = serde_json::from_value(example["input"].clone()).unwrap();
        let problem = Problem::check(fields).unwrap();
        let mut found = Sparse::default();
        jacobian(&problem, &mut found);
        // A second run overwrites the first.
        found.vals.fill(7.0);
        jacobian(&problem, &mut found);
        assert_eq!(json!(found.rows), example["output"]["rows"]);
        assert_eq!(json!(found.cols), example["output"]["cols"]);
        let expected: Vec<f64> = serde_json::from_value(example["output"]["vals"].clone()).unwrap();
        assert_eq!(found.vals.len(), expected.len());
        for (found, expected) in found.vals.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found}, expected {expected}");
        }
    }
}
