//! Hessians of scalar functions, and matrix-free products with them.

use super::jacobian::{Direction, arranged};
use super::linearize;
use crate::location::{self, Line};
use crate::tree::JacobianLayout;
use crate::{Tensor, Tree};
use crate::{grad, jvp, vjp};

/// The Hessian of a scalar function, as a function: forward over reverse, with all columns in one batch. It has the layout of the
/// [`jacobian`](super::jacobian()) of the gradient.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| x.prod();
/// assert_eq!(hessian(f)(&Tensor::from([2.0, 3.0])), Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
/// ```
#[track_caller]
pub fn hessian<X: JacobianLayout>(f: impl Fn(&X) -> Tensor) -> impl Fn(&X) -> X::Of<X> {
    let line = location::resolve(Line::caller());
    let gradient = grad(f);
    move |x| arranged("hessian", &gradient, x, Some(Direction::Columns), line)
}

/// The Hessian-vector product of a scalar function, forward over reverse, at a small multiple of the cost of the gradient. For many vectors
/// at one point, `linearize(grad(f), &x)` is the Hessian as an operator.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| (x * x * x).sum();
/// assert_eq!(hvp(f, &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 1.0])), Tensor::from([6.0, 12.0]));
/// ```
#[track_caller]
pub fn hvp<X: Tree>(f: impl Fn(&X) -> Tensor, x: &X, v: &X) -> X {
    jvp(grad(f), x, v).1
}

/// The vector-Hessian product of a scalar function, reverse over reverse. The Hessian is symmetric, so this equals [`hvp`], computed in
/// another way.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| (x * x * x).sum();
/// assert_eq!(vhp(f, &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 1.0])), Tensor::from([6.0, 12.0]));
/// ```
#[track_caller]
pub fn vhp<X: Tree>(f: impl Fn(&X) -> Tensor, x: &X, v: &X) -> X {
    vjp(grad(f), x).1.call(v)
}

/// The Gauss-Newton product `J' H J v` of `loss(f(x))`: J the Jacobian of `f`, H the Hessian of `loss`. It is positive
/// semidefinite for a convex loss.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| x * x;
/// let loss = |y: &Tensor| (y * y).sum() / 2.0;
/// assert_eq!(gauss_newton_product(f, loss, &Tensor::from([3.0]), &Tensor::from([1.0])), Tensor::from([36.0]));
/// ```
#[track_caller]
pub fn gauss_newton_product<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, loss: impl Fn(&Y) -> Tensor, x: &X, v: &X) -> X {
    let (y, map) = linearize(f, x);
    map.apply_transpose(&hvp(loss, &y, &map.apply(v)))
}
