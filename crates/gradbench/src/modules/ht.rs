//! ht - hand tracking: compares points on the skin of a hand model with measured points.
//!
//! The skin follows the bones: a vertex is the weighted mean of its images under the transforms of the bones. Of the 26 parameters, the
//! first six rotate and translate the whole hand, the others bend the fingers. A measured point corresponds to a vertex, or to the point u
//! on a triangle.

use super::{Module, Workload};
use crate::matrix::Matrix;
use crate::random::Random;
use crate::run::{Input, ensure, ensure_length, repeated};
use serde::Deserialize;
use serde_json::{Value, json};
use std::array::from_fn;
use wengert::scalar::{Dual, Real};

pub static MODULE: Module = Module {
    name: "ht",
    functions: &[("objective", |input| repeated(input, objective)), ("jacobian", |input| repeated(input, jacobian))],
    primal: Some("objective"),
    workloads,
};

const PARAMETERS: usize = 26;
const BONES: usize = 22;

type Transform<T> = [[T; 4]; 4];

#[derive(Deserialize)]
struct Fields {
    theta: [f64; PARAMETERS],
    us: Vec<[f64; 2]>,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    correspondences: Vec<usize>,
    points: Vec<[f64; 3]>,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    bone_count: usize,
    parents: Vec<i64>,
    base_relatives: Vec<Transform<f64>>,
    inverse_base_absolutes: Vec<Transform<f64>>,
    base_positions: Vec<[f64; 4]>,
    weights: Matrix,
    triangles: Vec<[usize; 3]>,
    is_mirrored: bool,
}

struct Problem {
    theta: [f64; PARAMETERS],
    us: Vec<[f64; 2]>,
    points: Vec<[f64; 3]>,
    correspondences: Vec<usize>,
    triangles: Vec<[usize; 3]>,
    bones: Vec<Bone>,
    vertices: Vec<Vertex>,
    is_mirrored: bool,
}

struct Bone {
    parent: Option<usize>,
    base_relative: Transform<f64>,
    inverse_base_absolute: Transform<f64>,
}

/// A position, and the bones that move it with their weights.
struct Vertex {
    place: [f64; 4],
    weights: Vec<(usize, f64)>,
}

impl Input for Problem {
    type Fields = Fields;

    fn check(Fields { theta, us, data }: Fields) -> Result<Problem, String> {
        let Data { correspondences, points, model } = data;
        ensure_length("points", points.len(), correspondences.len())?;
        if !us.is_empty() {
            ensure_length("us", us.len(), correspondences.len())?;
        }
        let vertices = model.base_positions.len();
        let (places, what) = if us.is_empty() { (vertices, "vertex") } else { (model.triangles.len(), "triangle") };
        if let Some(missing) = correspondences.iter().find(|place| **place >= places) {
            return Err(format!("correspondences names {what} {missing} of {places}"));
        }
        if let Some(missing) = model.triangles.iter().flatten().find(|vertex| **vertex >= vertices) {
            return Err(format!("triangles names vertex {missing} of {vertices}"));
        }
        let Model { triangles, is_mirrored, .. } = model;
        let bones = bones(model.bone_count, &model.parents, &model.base_relatives, &model.inverse_base_absolutes)?;
        let weights = model.weights.into_numbers("weights", (vertices, BONES))?;
        let movers = |weights: &[f64]| weights.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).collect();
        let vertex = |(place, weights): (&[f64; 4], &[f64])| Vertex { place: *place, weights: movers(weights) };
        let vertices = model.base_positions.iter().zip(weights.chunks_exact(BONES)).map(vertex).collect();
        Ok(Problem { theta, us, points, correspondences, triangles, bones, vertices, is_mirrored })
    }
}

fn bones(
    count: usize,
    parents: &[i64],
    relatives: &[Transform<f64>],
    inverses: &[Transform<f64>],
) -> Result<Vec<Bone>, String> {
    ensure(count == BONES, format!("bone_count is {count}, expected {BONES}"))?;
    ensure_length("parents", parents.len(), BONES)?;
    ensure_length("base_relatives", relatives.len(), BONES)?;
    ensure_length("inverse_base_absolutes", inverses.len(), BONES)?;
    let bone = |b: usize| {
        let parent = match parents[b] {
            -1 => None,
            before if (0..b as i64).contains(&before) => Some(before as usize),
            other => return Err(format!("parents: {other} does not come before bone {b}")),
        };
        Ok(Bone { parent, base_relative: relatives[b], inverse_base_absolute: inverses[b] })
    };
    (0..BONES).map(bone).collect()
}

fn product<T: Real>(a: &Transform<T>, b: &Transform<T>) -> Transform<T> {
    from_fn(|i| from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + a[i][3] * b[3][j]))
}

fn lift<T: Real>(transform: &Transform<f64>) -> Transform<T> {
    transform.map(|row| row.map(T::lit))
}

/// A rotation about the x axis, then about the z axis.
fn bend<T: Real>(about_x: T, about_z: T) -> Transform<T> {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let (sx, cx, sz, cz) = (about_x.sin(), about_x.cos(), about_z.sin(), about_z.cos());
    [[cz, -(sz * cx), sz * sx, zero], [sz, cz * cx, -(cz * sx), zero], [zero, sx, cx, zero], [zero, zero, zero, one]]
}

/// The angles of each bone about the x and the z axis. A finger has four bones, from bone 2 on: three of them bend, the first of these also
/// sideways.
fn angles<T: Real>(theta: &[T; PARAMETERS]) -> [[T; 2]; BONES] {
    let mut angles = [[T::lit(0.0); 2]; BONES];
    for (finger, bends) in theta[6..].chunks_exact(4).enumerate() {
        let first = 2 + 4 * finger;
        angles[first] = [bends[0], bends[1]];
        angles[first + 1][0] = bends[2];
        angles[first + 2][0] = bends[3];
    }
    angles
}

/// The transform of each bone, applied to a point of the hand at rest.
fn transforms<T: Real>(bones: &[Bone], theta: &[T; PARAMETERS]) -> Vec<Transform<T>> {
    let mut absolutes: Vec<Transform<T>> = Vec::with_capacity(BONES);
    for (bone, [about_x, about_z]) in bones.iter().zip(angles(theta)) {
        let relative = product(&lift(&bone.base_relative), &bend(about_x, about_z));
        absolutes.push(bone.parent.map_or(relative, |parent| product(&absolutes[parent], &relative)));
    }
    let from_rest = |(bone, absolute): (&Bone, &Transform<T>)| product(absolute, &lift(&bone.inverse_base_absolute));
    bones.iter().zip(&absolutes).map(from_rest).collect()
}

/// The rotation about an axis by its length; a tiny rotation is the identity.
fn rotation<T: Real>(axis: &[T]) -> [[T; 3]; 3] {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let angle = T::norm(axis);
    if angle < T::lit(1e-4) {
        return [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    }
    let (x, y, z) = (axis[0] / angle, axis[1] / angle, axis[2] / angle);
    let (s, c) = (angle.sin(), angle.cos());
    let rest = one - c;
    [
        [x * x + (one - x * x) * c, x * y * rest - z * s, x * z * rest + y * s],
        [x * y * rest + z * s, y * y + (one - y * y) * c, y * z * rest - x * s],
        [x * z * rest - y * s, y * z * rest + x * s, z * z + (one - z * z) * c],
    ]
}

/// All vertices of the posed hand.
fn skin<T: Real>(problem: &Problem, theta: &[T; PARAMETERS]) -> Vec<[T; 3]> {
    let transforms = transforms(&problem.bones, theta);
    let rotation = rotation(&theta[..3]);
    let position = |vertex: &Vertex| {
        let mut position = [T::lit(0.0); 3];
        for (bone, weight) in &vertex.weights {
            let share = vertex.place.map(|coordinate| weight * coordinate);
            for (sum, row) in position.iter_mut().zip(&transforms[*bone]) {
                *sum = row.iter().zip(share).fold(*sum, |sum, (entry, share)| entry.mul_add(T::lit(share), sum));
            }
        }
        if problem.is_mirrored {
            position[0] = -position[0];
        }
        from_fn(|i| {
            let [x, y, z] = rotation[i];
            x * position[0] + y * position[1] + z * position[2] + theta[3 + i]
        })
    };
    problem.vertices.iter().map(position).collect()
}

/// Measured points minus model points, three numbers each.
fn residuals<T: Real>(problem: &Problem, theta: &[T; PARAMETERS], us: &[[T; 2]]) -> Vec<T> {
    let positions = skin(problem, theta);
    let on_skin = |i: usize| {
        let place = problem.correspondences[i];
        let Some([u, v]) = us.get(i).copied() else { return positions[place] };
        let [a, b, c] = problem.triangles[place].map(|vertex| positions[vertex]);
        let w = T::lit(1.0) - u - v;
        from_fn(|j| u * a[j] + v * b[j] + w * c[j])
    };
    let residual = |(i, point): (usize, &[f64; 3])| {
        let position = on_skin(i);
        from_fn::<T, 3, _>(|j| T::lit(point[j]) - position[j])
    };
    problem.points.iter().enumerate().flat_map(residual).collect()
}

fn objective(problem: &Problem) -> Vec<f64> {
    residuals(problem, &problem.theta, &problem.us)
}

fn jacobian(problem: &Problem) -> Matrix {
    if problem.us.is_empty() { columns::<PARAMETERS>(problem) } else { columns::<{ 2 + PARAMETERS }>(problem) }
}

/// A residual depends on the parameters, which are the last directions, and only on its own u; so all u share the first two directions.
fn columns<const N: usize>(problem: &Problem) -> Matrix {
    let theta = from_fn(|i| Dual::<f64, N>::variable(problem.theta[i], N - PARAMETERS + i));
    let us: Vec<_> = problem.us.iter().map(|[u, v]| [Dual::variable(*u, 0), Dual::variable(*v, 1)]).collect();
    let residuals = residuals(problem, &theta, &us);
    Matrix::new((residuals.len(), N), residuals.iter().flat_map(|residual| *residual.tangents()).collect())
}

fn workloads() -> Vec<Workload> {
    let counts = [100, 192, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100_000];
    let one = |(i, count): (usize, usize)| {
        Workload::new(format!("hand{}_t26_c{count}", i + 1), move |random| workload(random, count))
    };
    counts.into_iter().enumerate().map(one).collect()
}

/// A hand with straight fingers, with vertices around it that four bones move, and measured points nearby.
fn workload(random: &mut Random, count: usize) -> Value {
    let (vertices, triangles) = (10_000, 1084);
    let parent = |bone: i64| match bone {
        0 => -1,
        first if first % 4 == 1 => 0,
        other => other - 1,
    };
    let shift = |bones: f64| {
        let [x, y, z] = [0.1, 0.02, 0.05].map(|length| bones * length);
        [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]]
    };
    let bones_up_to = |bone: usize| if bone == 0 { 1.0 } else { (2 + (bone - 1) % 4) as f64 };
    let mut positions = random.uniform_rows(vertices, 3);
    positions.iter_mut().for_each(|position| position.push(1.0));
    let mut weights = vec![vec![0.0; BONES]; vertices];
    weights.iter_mut().for_each(|row| (0..4).for_each(|_| row[random.below(BONES)] += 0.25));
    let corners: Vec<[usize; 3]> = (0..triangles).map(|_| from_fn(|_| random.below(vertices))).collect();
    let correspondences: Vec<usize> = (0..count).map(|_| random.below(triangles)).collect();
    json!({
        "theta": random.uniform(PARAMETERS),
        "us": random.uniform_rows(count, 2),
        "data": {
            "correspondences": correspondences,
            "points": random.uniform_rows(count, 3),
            "model": {
                "bone_count": BONES,
                "parents": (0..BONES as i64).map(parent).collect::<Vec<_>>(),
                "base_relatives": vec![shift(1.0); BONES],
                "inverse_base_absolutes": (0..BONES).map(|bone| shift(-bones_up_to(bone))).collect::<Vec<_>>(),
                "base_positions": positions,
                "weights": weights,
                "triangles": corners,
                "is_mirrored": false,
            },
        },
    })
}
