//! Custom derivative rules for functions, given by the user.

mod jvp;
mod vjp;

use crate::bind::try_bind;
use crate::custom::{CUSTOM, Function, attrs_of};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::methods::*;
use crate::primitive::Spec;
use crate::tree::difference;
use crate::{Error, ErrorKind, Tensor, Tree};
use std::sync::Arc;

/// A function with a custom reverse-mode derivative. `forward` returns the value and the residuals that `backward` needs; `backward`
/// computes the cotangent of the input from the residuals and the cotangent of the output.
///
/// Forward mode transposes `backward`, which should be linear in the cotangent. If it is not, for example because it clips, forward mode
/// uses its derivative at zero. Captured values are constants to the rule; capturing a tensor that a running transform differentiates or
/// batches is an error.
///
/// Every transform uses the rule as the derivative of the output, at every order. Residuals that are neither inputs nor outputs have the
/// derivative of the operations that computed them, and `backward` is differentiated as it is written.
///
/// ```
/// use wengert::prelude::*;
/// // log(1 + e^x). Written with x.exp(), it is infinite at 1000, with gradient 0.
/// let softplus = custom_vjp(
///     |x: &Tensor| (x.relu() + (-x.abs()).exp().log1p(), x.clone()),
///     |x: &Tensor, dy: &Tensor| dy * x.sigmoid(),
/// );
/// assert_eq!(grad(|x: &Tensor| softplus(x))(&Tensor::from(1000.0)).item(), 1.0);
/// ```
///
/// Identity functions that change only the gradient:
///
/// ```
/// use wengert::prelude::*;
/// let clip = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| dy.clamp(-1.0, 1.0));
/// let reverse = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| -dy);
/// let scale = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| dy * 0.1);
/// let slope = |f: &dyn Fn(&Tensor) -> Tensor| grad(|x: &Tensor| f(x) * 5.0)(&Tensor::from(2.0)).item();
/// assert_eq!((slope(&clip), slope(&reverse), slope(&scale)), (1.0, -5.0, 0.5));
///
/// // A step whose slope is taken for 1: y^2 has the slope 2 y, and that the slope 2.
/// let rounded = custom_vjp(|x: &Tensor| (x.round(), ()), |_: &(), dy: &Tensor| dy.clone());
/// let square = |x: &Tensor| rounded(x).square();
/// let x = Tensor::from(2.8);
/// assert_eq!((grad(square)(&x).item(), grad(grad(square))(&x).item()), (6.0, 2.0));
/// ```
#[track_caller]
pub fn custom_vjp<X, Y, R>(
    forward: impl Fn(&X) -> (Y, R) + Send + Sync + 'static,
    backward: impl Fn(&R, &Y) -> X + Send + Sync + 'static,
) -> impl Fn(&X) -> Y
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    let closures = Arc::new((forward, backward));
    move |x: &X| {
        let call = vjp::Call::new(&closures, x);
        let outputs = bind(call.function(), &x.leaves(), line).or_raise();
        call.rebuilt(outputs)
    }
}

/// A function with a custom forward-mode derivative. `rule` computes the tangent of the output from the input, the output and the tangent
/// of the input, in which it must be linear. Reverse mode transposes it. Captured values are constants to the rule; capturing a tensor that
/// a running transform differentiates or batches is an error.
///
/// ```
/// use wengert::prelude::*;
/// let root = custom_jvp(|x: &Tensor| x.sqrt(), |_: &Tensor, y: &Tensor, dx: &Tensor| dx / (y * 2.0));
/// assert_eq!(grad(|x: &Tensor| root(x))(&Tensor::from(4.0)).item(), 0.25);
/// assert_eq!(jvp(|x: &Tensor| root(x), &Tensor::from(4.0), &Tensor::from(2.0)).1.item(), 0.5);
/// ```
#[track_caller]
pub fn custom_jvp<X, Y>(
    f: impl Fn(&X) -> Y + Send + Sync + 'static,
    rule: impl Fn(&X, &Y, &X) -> Y + Send + Sync + 'static,
) -> impl Fn(&X) -> Y
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    let closures = Arc::new((f, rule));
    move |x: &X| {
        let call = jvp::Call::new(&closures, x);
        let outputs = bind(call.function(), &x.leaves(), line).or_raise();
        call.rebuilt(outputs)
    }
}

/// Returns the same tree as a constant: no derivative passes through it, in any mode or transform.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| x * stop_gradient(x);
/// assert_eq!(grad(f)(&Tensor::from(3.0)).item(), 3.0);
/// ```
#[track_caller]
pub fn stop_gradient<X: Tree>(x: &X) -> X {
    x.map_leaves(|leaf| if leaf.dtype().is_float() { leaf.detach() } else { leaf.clone() })
}

/// A call of a function.
fn bind(function: Arc<dyn Function>, x: &[&Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
    let _scope = location::scope(line);
    Ok(try_bind(&CUSTOM, attrs_of(function), x, line)?.into_vec())
}

/// Calls a function inside one of its own passes: on the levels below, where the same derivative holds.
fn bind_below(function: Arc<dyn Function>, x: &[Tensor]) -> Vec<Tensor> {
    crate::bind::bind(&CUSTOM, attrs_of(function), &x.iter().collect::<Vec<_>>()).into_vec()
}

/// The structure of a tree, without the values of its leaves.
pub(crate) fn form_of<T: Tree>(tree: &T) -> T {
    tree.map_leaves(|_| Tensor::from(0.0))
}

fn owned<T: Tree>(tree: &T) -> Vec<Tensor> {
    tree.leaves().into_iter().cloned().collect()
}

pub(crate) fn specs_of<T: Tree>(tree: &T) -> Vec<Spec> {
    tree.leaves().into_iter().map(Tensor::spec).collect()
}

/// Checks that the result of a user's rule has the form of what it is the derivative of.
pub(crate) fn expect_form<T: Tree>(name: &str, what: &str, tree: &T, form: &T, specs: &[Spec]) -> Result<(), Error> {
    if let Some(text) = difference(tree, form) {
        return Err(Error::new(ErrorKind::Tree, name, format!("{what} has another structure: {text}")));
    }
    for ((path, leaf), spec) in tree.named_leaves().into_iter().zip(specs) {
        if leaf.spec() != *spec {
            let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
            return Err(Error::new(ErrorKind::Tree, name, format!("{what} is {}{at}, not {spec}", leaf.spec()))
                .help("it has the shape and dtype of what it belongs to"));
        }
    }
    Ok(())
}
