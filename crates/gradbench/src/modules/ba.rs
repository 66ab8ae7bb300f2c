//! ba - bundle adjustment: where cameras see points, against where they were seen.
//!
//! A camera has an axis times an angle, a centre, a focal length f, a principal point and two coefficients of radial distortion. A point
//! is moved to the camera's centre, turned, divided by its depth, distorted, scaled and shifted; the errors are weighted. A weight w has
//! the error 1 - w^2 of its own.

use super::{Module, Workload};
use crate::run::{Input, ensure, ensure_some, repeated};
use serde::ser::{Error, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wengert::scalar::{Dual, Real};

pub static MODULE: Module = Module {
    name: "ba",
    functions: &[("objective", |input| repeated(input, objective)), ("jacobian", |input| repeated(input, jacobian))],
    primal: Some("objective"),
    workloads,
};

/// Numbers of a camera, of a point, and of all that an observation depends on: those and its weight.
const CAMERA: usize = 11;
const POINT: usize = 3;
const INPUTS: usize = CAMERA + POINT + 1;

/// Cameras, points or observations at most: more do not fit into memory.
const MOST: usize = 100_000_000;

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
    cameras: Vec<[f64; CAMERA]>,
    points: Vec<[f64; POINT]>,
    weights: Vec<f64>,
    features: Vec<[f64; 2]>,
}

impl Input for Problem {
    type Fields = Fields;

    fn check(fields: Fields) -> Result<Problem, String> {
        let Fields { n, m, p, cam, x, w, feat } = fields;
        for (name, size) in [("n", n), ("m", m), ("p", p)] {
            ensure_some(name, size)?;
            ensure(size <= MOST, format!("{name} must be at most {MOST}"))?;
        }
        Ok(Problem { cameras: vec![cam; n], points: vec![x; m], weights: vec![w; p], features: vec![feat; p] })
    }
}

fn reprojection_error<T: Real>(camera: &[T; CAMERA], point: &[T; POINT], weight: T, feature: &[f64; 2]) -> [T; 2] {
    let [r1, r2, r3, c1, c2, c3, focal, u0, v0, k1, k2] = *camera;
    let from_centre = [point[0] - c1, point[1] - c2, point[2] - c3];
    let [x, y, depth] = rotate([r1, r2, r3], from_centre);
    let (x, y) = (x / depth, y / depth);
    let square = x * x + y * y;
    let distortion = T::lit(1.0) + square * (k1 + k2 * square);
    let seen = [focal * (x * distortion) + u0, focal * (y * distortion) + v0];
    [weight * (seen[0] - T::lit(feature[0])), weight * (seen[1] - T::lit(feature[1]))]
}

/// Turns a vector about an axis, by the axis' length (Rodrigues' formula).
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

/// The errors of all observations; the first of each kind is shown.
struct Errors {
    reprojections: Vec<[f64; 2]>,
    weights: Vec<f64>,
}

impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = json!({
            "reproj_error": {"elements": self.reprojections[0], "repeated": self.reprojections.len()},
            "w_err": {"element": self.weights[0], "repeated": self.weights.len()},
        });
        shown.serialize(serializer)
    }
}

fn objective(problem: &Problem) -> Errors {
    let Problem { cameras, points, weights, features } = problem;
    let observations = weights.iter().zip(features).enumerate();
    let error = |(i, (weight, feature)): (usize, (&f64, &[f64; 2]))| {
        reprojection_error(&cameras[i % cameras.len()], &points[i % points.len()], *weight, feature)
    };
    Errors {
        reprojections: observations.map(error).collect(),
        weights: weights.iter().map(|weight| weight_error(*weight)).collect(),
    }
}

/// The derivatives of an observation's two errors by what it depends on.
fn observation_jacobian(
    camera: &[f64; CAMERA],
    point: &[f64; POINT],
    weight: f64,
    feature: &[f64; 2],
) -> [[f64; INPUTS]; 2] {
    let camera = std::array::from_fn(|i| Dual::<f64, INPUTS>::variable(camera[i], i));
    let point = std::array::from_fn(|i| Dual::variable(point[i], CAMERA + i));
    let weight = Dual::variable(weight, CAMERA + POINT);
    reprojection_error(&camera, &point, weight, feature).map(|error| *error.tangents())
}

fn weight_slope(weight: f64) -> f64 {
    weight_error(Dual::<f64, 1>::variable(weight, 0)).tangents()[0]
}

/// A sparse matrix by rows: where each begins, columns and values. The answer shows the beginning and the end of each list.
#[derive(Serialize)]
struct Sparse {
    #[serde(serialize_with = "first_and_last")]
    rows: Vec<usize>,
    #[serde(serialize_with = "first_and_last")]
    cols: Vec<usize>,
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

/// The errors of all observations by all cameras, points and weights; then the errors of the weights.
fn jacobian(problem: &Problem) -> Sparse {
    let Problem { cameras, points, weights, features } = problem;
    let first_point = CAMERA * cameras.len();
    let first_weight = first_point + POINT * points.len();
    let entries = weights.len() * (2 * INPUTS + 1);
    let mut rows = Vec::with_capacity(3 * weights.len() + 1);
    let (mut cols, mut vals) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
    rows.push(0);
    for (i, (weight, feature)) in weights.iter().zip(features).enumerate() {
        let (camera, point) = (i % cameras.len(), i % points.len());
        for row in observation_jacobian(&cameras[camera], &points[point], *weight, feature) {
            cols.extend(CAMERA * camera..CAMERA * (camera + 1));
            cols.extend(first_point + POINT * point..first_point + POINT * (point + 1));
            cols.push(first_weight + i);
            vals.extend(row);
            rows.push(cols.len());
        }
    }
    for (i, weight) in weights.iter().enumerate() {
        cols.push(first_weight + i);
        vals.push(weight_slope(*weight));
        rows.push(cols.len());
    }
    Sparse { rows, cols, vals }
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

    /// The answer shows the first camera and point only; here are all.
    #[test]
    fn the_whole_matrix_is_that_of_the_example() {
        let examples: Value = serde_json::from_str(include_str!("../../tests/examples/ba.json")).unwrap();
        let Value::Object(example) = &examples["jacobian_p4_full"] else { panic!("no example") };
        let fields = serde_json::from_value(example["input"].clone()).unwrap();
        let found = jacobian(&Problem::check(fields).unwrap());
        assert_eq!(json!(found.rows), example["output"]["rows"]);
        assert_eq!(json!(found.cols), example["output"]["cols"]);
        let expected: Vec<f64> = serde_json::from_value(example["output"]["vals"].clone()).unwrap();
        assert_eq!(found.vals.len(), expected.len());
        for (found, expected) in found.vals.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found}, expected {expected}");
        }
    }
}
