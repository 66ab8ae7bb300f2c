//! Gradients of scalar functions.

use super::vjp::record;
use crate::error::OrRaise;
use crate::location;
use crate::{Error, ErrorKind, Shape, Tensor, Tree};
use std::panic::Location;

/// The gradient of a scalar function, as a function.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| (x * x * x).sum();
/// let df = grad(f);
/// let ddf = grad(grad(|x: &Tensor| x * x * x));
/// assert_eq!(df(&Tensor::from([1.0, 2.0])), Tensor::from([3.0, 12.0]));
/// assert_eq!(ddf(&Tensor::from(2.0)).item(), 12.0);
/// ```
#[track_caller]
pub fn grad<X: Tree>(f: impl Fn(&X) -> Tensor) -> impl Fn(&X) -> X {
    let both = value_and_grad(f);
    move |x: &X| both(x).1
}

/// The value and the gradient of a scalar function, as a function.
///
/// ```
/// use wengert::prelude::*;
/// let (value, gradient) = value_and_grad(|x: &Tensor| (x * x).sum())(&Tensor::from([3.0, 4.0]));
/// assert_eq!(value.item(), 25.0);
/// assert_eq!(gradient, Tensor::from([6.0, 8.0]));
/// ```
#[track_caller]
pub fn value_and_grad<X: Tree>(f: impl Fn(&X) -> Tensor) -> impl Fn(&X) -> (Tensor, X) {
    let line = location::resolve(Location::caller());
    move |x: &X| {
        let (y, pullback) = record("grad", &f, x, line);
        if y.elements() != 1 || !y.dtype().is_float() {
            let shape = Shape::from(y.shape());
            let message = format!("the function returned {}, not one real number", y.spec());
            Error::new(ErrorKind::SeedNeeded(shape), "grad", message)
                .at(line)
                .help("reduce the result, for example with .sum(), or use vjp with a cotangent")
                .raise();
        }
        let gradient = pullback.pull(&y.full_like(1.0), false, line).or_raise();
        (y, gradient)
    }
}
