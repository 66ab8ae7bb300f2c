//! Initial values of parameters, in the default dtype ([`default_dtype`](wengert_engine::autograd::default_dtype)).
//!
//! The *fan-in* of a weight `[out, in, ..kernel]` is the number of inputs of one output, `in * kernel`; its fan-out is `out * kernel`.

use crate::prelude::*;

/// The dtype of fresh tensors.
fn dtype() -> DType {
    Tensor::zeros([]).dtype()
}

/// Uniform in `(-range, range)`.
///
/// ```
/// use wengert::nn::init;
/// use wengert::prelude::*;
/// let w = init::uniform([100], 0.5, &mut Key::new(0));
/// assert!(w.abs().max().item() < 0.5);
/// ```
pub fn uniform(shape: impl Into<Shape>, range: f64, key: &mut Key) -> Tensor {
    (key.next().uniform(shape, dtype()) * 2.0 - 1.0) * range
}

/// Normal with this standard deviation.
pub fn normal(shape: impl Into<Shape>, deviation: f64, key: &mut Key) -> Tensor {
    key.next().normal(shape, dtype()) * deviation
}

/// Normal with this standard deviation, cut off at two of them.
///
/// ```
/// use wengert::nn::init;
/// use wengert::prelude::*;
/// let w = init::truncated_normal([1000], 0.1, &mut Key::new(0));
/// assert!(w.abs().max().item() <= 0.2);
/// ```
pub fn truncated_normal(shape: impl Into<Shape>, deviation: f64, key: &mut Key) -> Tensor {
    // The inverse of the distribution function, between its values at -2 and 2.
    let tail = Tensor::from(-2.0).ndtr().item();
    let u = key.next().uniform(shape, dtype()) * (1.0 - 2.0 * tail) + tail;
    u.ndtri().clamp(-2.0, 2.0) * deviation
}

/// He initialisation: uniform, with variance `2 / fan_in`, which a rectifier keeps.
pub fn kaiming_uniform(shape: impl Into<Shape>, key: &mut Key) -> Tensor {
    let shape = shape.into();
    let range = (6.0 / fans(&shape).0).sqrt();
    uniform(shape, range, key)
}

/// He initialisation: normal, with variance `2 / fan_in`, which a rectifier keeps.
pub fn kaiming_normal(shape: impl Into<Shape>, key: &mut Key) -> Tensor {
    let shape = shape.into();
    let deviation = (2.0 / fans(&shape).0).sqrt();
    normal(shape, deviation, key)
}

/// Glorot initialisation: uniform, with variance `2 / (fan_in + fan_out)`.
pub fn xavier_uniform(shape: impl Into<Shape>, key: &mut Key) -> Tensor {
    let shape = shape.into();
    let (inputs, outputs) = fans(&shape);
    uniform(shape, (6.0 / (inputs + outputs)).sqrt(), key)
}

/// Glorot initialisation: normal, with variance `2 / (fan_in + fan_out)`.
pub fn xavier_normal(shape: impl Into<Shape>, key: &mut Key) -> Tensor {
    let shape = shape.into();
    let (inputs, outputs) = fans(&shape);
    normal(shape, (2.0 / (inputs + outputs)).sqrt(), key)
}

/// A random matrix with orthonormal rows or columns, whichever are fewer; axes after the first count as columns.
///
/// ```
/// use wengert::nn::init;
/// use wengert::prelude::*;
/// let q = init::orthogonal([3, 5], &mut Key::new(0));
/// assert!(q.matmul(&q.t()).all_close(&Tensor::eye(3), 1e-12));
/// ```
///
/// # Panics
/// If there are fewer than two axes.
#[track_caller]
pub fn orthogonal(shape: impl Into<Shape>, key: &mut Key) -> Tensor {
    let shape = shape.into();
    if shape.len() < 2 {
        let message = format!("shape {shape} has no rows and columns");
        Error::new(ErrorKind::Shape(vec![shape]), "orthogonal", message).at(Line::caller()).raise();
    }
    let (rows, columns) = (shape[0], shape[1..].iter().product::<usize>());
    let tall = key.next().normal([rows.max(columns), rows.min(columns)], DType::F64);
    let (q, r) = tall.qr();
    // The signs of the diagonal make the distribution uniform.
    let q = q * r.diagonal().sign();
    let q = if rows < columns { q.t() } else { q };
    q.reshape(shape).cast(dtype())
}

/// `(fan_in, fan_out)`.
fn fans(shape: &Shape) -> (f64, f64) {
    let kernel: usize = shape.iter().skip(2).product();
    let size = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    ((size(1) * kernel) as f64, (size(0) * kernel) as f64)
}

/// What PyTorch's layers begin with: uniform in `(-1 / sqrt(fan_in), 1 / sqrt(fan_in))`.
pub(crate) fn usual(shape: impl Into<Shape>, fan_in: usize, key: &mut Key) -> Tensor {
    uniform(shape, 1.0 / (fan_in.max(1) as f64).sqrt(), key)
}
