//! Derivative rules for whole functions, given by the user.

use super::record::{filled, given};
use super::vjp;
use crate::bind::try_bind;
use crate::custom::{CUSTOM, Function, Residual, attrs_of};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::{Mask, Spec};
use crate::tree::difference;
use crate::{Error, ErrorKind, Tensor, Tree};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A function whose derivative in reverse mode is `backward`: `forward` returns the value and whatever `backward` needs, and
/// `backward` makes the cotangent of the input from that and the cotangent of the output.
///
/// Forward mode transposes `backward`, which is linear in the cotangent; where it is not, as when it clips, forward mode takes
/// its derivative at zero. Higher derivatives differentiate `forward` and `backward` themselves. What the closures capture is a
/// constant to the rule.
///
/// ```
/// use wengert::prelude::*;
/// // log(1 + e^x), whose derivative as written would overflow.
/// let softplus = custom_vjp(
///     |x: &Tensor| ((x.exp() + 1.0).log(), x.clone()),
///     |x: &Tensor, dy: &Tensor| dy * x.sigmoid(),
/// );
/// assert_eq!(grad(|x: &Tensor| softplus(x))(&Tensor::from(1000.0)).item(), 1.0);
/// ```
///
/// Identities that change the gradient alone:
///
/// ```
/// use wengert::prelude::*;
/// let clip = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| dy.clamp(-1.0, 1.0));
/// let reverse = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| -dy);
/// let scale = custom_vjp(|x: &Tensor| (x.clone(), ()), |_: &(), dy: &Tensor| dy * 0.1);
/// let slope = |f: &dyn Fn(&Tensor) -> Tensor| grad(|x: &Tensor| f(x) * 5.0)(&Tensor::from(2.0)).item();
/// assert_eq!((slope(&clip), slope(&reverse), slope(&scale)), (1.0, -5.0, 0.5));
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
    let line = location::resolve(Location::caller());
    let (forward, backward) = (Arc::new(forward), Arc::new(backward));
    move |x: &X| {
        let (forward, backward) = (forward.clone(), backward.clone());
        let function = Arc::new(Vjp { forward, backward, input: form_of(x), output: Mutex::default() });
        let outputs = call(function.clone(), x, line).or_raise();
        rebuilt(&function.output, outputs)
    }
}

/// A function whose derivative in forward mode is `rule`: the tangent of the output from the input, the output and the tangent
/// of the input, in which it must be linear. Reverse mode transposes it. What the closures capture is a constant to the rule.
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
    let line = location::resolve(Location::caller());
    let (f, rule) = (Arc::new(f), Arc::new(rule));
    move |x: &X| {
        let (f, rule) = (f.clone(), rule.clone());
        let function = Arc::new(Jvp { f, rule, input: form_of(x), output: Mutex::default() });
        let outputs = call(function.clone(), x, line).or_raise();
        rebuilt(&function.output, outputs)
    }
}

/// The same tree, a constant to every transform that is running: no derivative passes in any mode.
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

/// A call of a function on the leaves of a tree.
pub(super) fn call<X: Tree>(function: Arc<dyn Function>, x: &X, line: Line) -> Result<Vec<Tensor>, Error> {
    let _scope = location::scope(line);
    Ok(try_bind(&CUSTOM, attrs_of(function), &x.leaves(), line)?.into_vec())
}

/// A tree's structure, its leaves' numbers left out.
pub(crate) fn form_of<T: Tree>(tree: &T) -> T {
    tree.map_leaves(|_| Tensor::from(0.0))
}

fn rebuilt<Y: Tree>(form: &Mutex<Option<Y>>, leaves: Vec<Tensor>) -> Y {
    let form = form.lock().unwrap_or_else(PoisonError::into_inner);
    form.as_ref().expect("the function has run").rebuild(leaves)
}

fn remember<Y: Tree>(form: &Mutex<Option<Y>>, y: &Y) {
    form.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| form_of(y));
}

fn owned<T: Tree>(tree: &T) -> Vec<Tensor> {
    tree.leaves().into_iter().cloned().collect()
}

pub(crate) fn specs_of<T: Tree>(tree: &T) -> Vec<Spec> {
    tree.leaves().into_iter().map(Tensor::spec).collect()
}

/// A tree of this form with these leaves, zeros where there is none.
fn completed<T: Tree>(form: &T, specs: &[Spec], leaves: &[Option<Tensor>]) -> T {
    let leaves = leaves.iter().zip(specs);
    let leaves = leaves.map(|(leaf, spec)| leaf.clone().unwrap_or_else(|| Tensor::constant(0.0, spec)));
    form.rebuild(leaves.collect::<Vec<_>>())
}

/// What a user's rule returned must fit what it is the derivative of.
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

struct Vjp<X, Y, F, B> {
    forward: Arc<F>,
    backward: Arc<B>,
    input: X,
    output: Mutex<Option<Y>>,
}

/// What `forward` returned besides numbers.
struct VjpForm<Y, R> {
    residual: R,
    output: Y,
    output_specs: Vec<Spec>,
    input_specs: Vec<Spec>,
}

impl<X, Y, R, F, B> Function for Vjp<X, Y, F, B>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
    F: Fn(&X) -> (Y, R) + Send + Sync,
    B: Fn(&R, &Y) -> X + Send + Sync,
{
    fn name(&self) -> &'static str {
        "custom_vjp"
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        self.forward(x).0
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let (y, residual) = (self.forward)(&self.input.rebuild(x.iter().cloned()));
        remember(&self.output, &y);
        let form = VjpForm {
            residual: form_of(&residual),
            output: form_of(&y),
            output_specs: specs_of(&y),
            input_specs: x.iter().map(Tensor::spec).collect(),
        };
        (owned(&y), Residual { tensors: owned(&residual), form: Arc::new(form) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let form: &VjpForm<Y, R> = residual.form.downcast_ref().expect("a residual of this function");
        let left = form.residual.rebuild(residual.tensors.iter().cloned());
        let cotangent = completed(&form.output, &form.output_specs, cotangents);
        let pulled = (self.backward)(&left, &cotangent);
        expect_form(self.name(), "what `backward` returned", &pulled, &self.input, &form.input_specs).or_raise();
        given(&pulled)
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let form: &VjpForm<Y, R> = residual.form.downcast_ref().expect("a residual of this function");
        let left = form.residual.rebuild(residual.tensors.iter().cloned());
        let zero = completed(&form.output, &form.output_specs, &vec![None; form.output_specs.len()]);
        let (_, transposed) = vjp(|cotangent: &Y| (self.backward)(&left, cotangent), &zero);
        let pushed = transposed.call_named(&completed(&self.input, &form.input_specs, tangents));
        pushed.into_iter().map(|(_, tangent)| tangent).collect()
    }
}

struct Jvp<X, Y, F, J> {
    f: Arc<F>,
    rule: Arc<J>,
    input: X,
    output: Mutex<Option<Y>>,
}

impl<X: Tree, Y: Tree, F, J> Jvp<X, Y, F, J> {
    /// Input and output, which are what this rule needs.
    fn parts(&self, residual: &Residual) -> (X, Y)
    where
        Y: 'static,
    {
        let form: &Y = residual.form.downcast_ref().expect("a residual of this function");
        let count = self.input.leaves().len();
        let (x, y) = residual.tensors.split_at(count);
        (self.input.rebuild(x.iter().cloned()), form.rebuild(y.iter().cloned()))
    }
}

impl<X, Y, F, J> Function for Jvp<X, Y, F, J>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    F: Fn(&X) -> Y + Send + Sync,
    J: Fn(&X, &Y, &X) -> Y + Send + Sync,
{
    fn name(&self) -> &'static str {
        "custom_jvp"
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        let y = (self.f)(&self.input.rebuild(x.iter().cloned()));
        remember(&self.output, &y);
        owned(&y)
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let y = self.call(x);
        let form = self.output.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(form_of);
        let tensors = x.iter().chain(&y).cloned().collect();
        (y, Residual { tensors, form: Arc::new(form.expect("the function has run")) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let (x, y) = self.parts(residual);
        let zero = filled(&x, vec![None; x.leaves().len()]);
        let (_, transposed) = vjp(|tangent: &X| (self.rule)(&x, &y, tangent), &zero);
        let pulled = transposed.call_named(&filled(&y, cotangents.to_vec()));
        pulled.into_iter().map(|(_, cotangent)| cotangent).collect()
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let (x, y) = self.parts(residual);
        let pushed = (self.rule)(&x, &y, &filled(&x, tangents.to_vec()));
        expect_form(self.name(), "what the rule returned", &pushed, &y, &specs_of(&y)).or_raise();
        given(&pushed)
    }
}
