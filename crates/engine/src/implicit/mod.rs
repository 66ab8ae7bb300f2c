//! Functions defined by an equation: linear systems, roots, fixed points, minima, and solutions of differential equations. They are
//! differentiated through the equation that the result satisfies; iterations are not recorded.
//!
//! Each is a [`Function`] that reads values. Its derivative rules are written with Tensor operations and further calls of such functions,
//! on tensors of a lower level. So they nest in any order and to any depth.

mod argmin;
mod fixed_point;
mod krylov;
mod linear;
mod ode;
mod packing;
mod root;
mod rule;

use crate::methods::*;
pub use argmin::{Argmin, argmin, try_argmin};
pub use fixed_point::{FixedPoint, fixed_point, try_fixed_point};
pub use krylov::Krylov;
pub use linear::{linear_solve, try_linear_solve};
pub use ode::{Adjoint, Ode, odeint, try_odeint};
pub use root::{Root, root, try_root};

use crate::bind::try_bind;
use crate::custom::{CUSTOM, Function, attrs_of, completed};
use crate::error::OrRaise;
use crate::interp::custom::captured;
use crate::location::{self, Line};
use crate::tensor::Value;
use crate::{DType, Error, ErrorKind, Tensor, Tree};
use std::sync::Arc;

/// A function of the parameters' leaves and the unknown, packed into one tensor; its result has the form of the unknown.
type Map = Arc<dyn Fn(&[Tensor], &Tensor) -> Tensor + Send + Sync>;

/// Calls a function with operands of any level.
#[track_caller]
fn bind(function: impl Function + 'static, operands: &[Tensor]) -> Tensor {
    let line = location::resolve(Line::caller());
    bind_at(Arc::new(function), operands, line).or_raise()
}

fn bind_at(function: Arc<dyn Function>, operands: &[Tensor], line: Line) -> Result<Tensor, Error> {
    let operands: Vec<&Tensor> = operands.iter().collect();
    Ok(try_bind(&CUSTOM, attrs_of(function), &operands, line)?.remove(0))
}

/// The operands of a call: the parameters, and one more tensor.
fn with(parameters: &[Tensor], last: &Tensor) -> Vec<Tensor> {
    parameters.iter().chain([last]).cloned().collect()
}

/// Splits operands into the parameters and the last tensor.
fn split(operands: &[Tensor]) -> (&[Tensor], &Tensor) {
    let (last, parameters) = operands.split_last().expect("a call has operands");
    (parameters, last)
}

fn owned<T: Tree>(tree: &T) -> Vec<Tensor> {
    tree.leaves().into_iter().cloned().collect()
}

/// An iteration needs concrete values; if a tensor has none, it was captured.
fn expect_numbers(name: &str, tensor: &Tensor) -> Result<(), Error> {
    match &tensor.value {
        Value::Tracer(tracer) => Err(captured(name, tracer.level.name)),
        _ if tensor.link.is_some() => Err(captured(name, "imperative tape")),
        _ => Ok(()),
    }
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).sum().item()
}

/// The Euclidean norm of a vector, also if the squares of its elements overflow or underflow.
fn norm(a: &Tensor) -> f64 {
    let direct = dot(a, a).sqrt();
    let safe = match a.dtype() {
        DType::F64 => 1e-140..1e140,
        DType::F16 => 0.1..100.0,
        _ => 1e-15..1e15,
    };
    if safe.contains(&direct) || a.elements() == 0 {
        return direct;
    }
    let largest = a.abs().max().item();
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let scaled = a / largest;
    largest * dot(&scaled, &scaled).sqrt()
}

/// The default tolerance of an iteration.
fn usual_tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-10,
        DType::F32 => 1e-5,
        _ => 1e-2,
    }
}

/// The machine epsilon: the distance from one to the next larger number.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 2f64.powi(-10),
        _ => 2f64.powi(-7),
    }
}

fn diverged(name: &str, steps: usize, residual: f64, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Diverged { steps, residual }, name, message)
}
