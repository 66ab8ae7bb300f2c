//! Gradients of scalar functions.

use super::record::{Chosen, Record, filled};
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::{Error, ErrorKind, Shape, Tensor, Tree};

/// The gradient of a scalar function, as a function.
///
/// The function takes one argument by reference, and a closure names its type: `|x: &Tensor| ..`. Several arguments are one tuple or one
/// struct with `#[derive(Tree)]`: `|(x, y): &(Tensor, Tensor)| ..`.
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
    let line = location::resolve(Line::caller());
    move |x: &X| {
        let ((y, ()), gradient) = differentiate("grad", &|x: &X| (f(x), ()), x, &Chosen::All, line).or_raise();
        (y, gradient)
    }
}

/// The gradient of a function that also returns auxiliary output, together with that output.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| ((x * x).sum(), x.max());
/// let (gradient, largest) = grad_with_aux(f)(&Tensor::from([3.0, 4.0]));
/// assert_eq!(gradient, Tensor::from([6.0, 8.0]));
/// assert_eq!(largest.item(), 4.0);
/// ```
#[track_caller]
pub fn grad_with_aux<X: Tree, A: Tree>(f: impl Fn(&X) -> (Tensor, A)) -> impl Fn(&X) -> (X, A) {
    let both = value_and_grad_with_aux(f);
    move |x: &X| {
        let ((_, aux), gradient) = both(x);
        (gradient, aux)
    }
}

/// The full output of a function, a scalar and auxiliary output, and the gradient of the scalar.
///
/// ```
/// use wengert::prelude::*;
/// let f = |x: &Tensor| ((x * x).sum(), vec![x + 1.0]);
/// let ((value, aux), gradient) = value_and_grad_with_aux(f)(&Tensor::from([3.0, 4.0]));
/// assert_eq!((value.item(), gradient), (25.0, Tensor::from([6.0, 8.0])));
/// assert_eq!(aux[0], Tensor::from([4.0, 5.0]));
/// ```
#[track_caller]
pub fn value_and_grad_with_aux<X: Tree, A: Tree>(f: impl Fn(&X) -> (Tensor, A)) -> impl Fn(&X) -> ((Tensor, A), X) {
    let line = location::resolve(Line::caller());
    move |x: &X| differentiate("grad", &f, x, &Chosen::All, line).or_raise()
}

/// The gradient with respect to the leaves at or below `paths`. The other leaves are constants; their gradient is zeros that take no
/// memory. A function of several arguments takes a tuple, whose paths are `"0"`, `"1"`, ..
///
/// ```
/// use wengert::prelude::*;
/// let f = |(a, b): &(Tensor, Tensor)| (a * b).sum();
/// let (da, db) = grad_wrt(["1"], f)(&(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])));
/// assert_eq!((da, db), (Tensor::from([0.0, 0.0]), Tensor::from([1.0, 2.0])));
/// ```
#[track_caller]
pub fn grad_wrt<X: Tree>(
    paths: impl IntoIterator<Item = impl Into<String>>,
    f: impl Fn(&X) -> Tensor,
) -> impl Fn(&X) -> X {
    let both = value_and_grad_wrt(paths, f);
    move |x: &X| both(x).1
}

/// The value, and the gradient as in [`grad_wrt`].
///
/// ```
/// use wengert::prelude::*;
/// let f = |(a, b): &(Tensor, Tensor)| a * b;
/// let (value, (da, _)) = value_and_grad_wrt(["0"], f)(&(Tensor::from(2.0), Tensor::from(3.0)));
/// assert_eq!((value.item(), da.item()), (6.0, 3.0));
/// ```
#[track_caller]
pub fn value_and_grad_wrt<X: Tree>(
    paths: impl IntoIterator<Item = impl Into<String>>,
    f: impl Fn(&X) -> Tensor,
) -> impl Fn(&X) -> (Tensor, X) {
    let line = location::resolve(Line::caller());
    let chosen = Chosen::Below(paths.into_iter().map(Into::into).collect());
    move |x: &X| {
        let ((y, ()), gradient) = differentiate("grad_wrt", &|x: &X| (f(x), ()), x, &chosen, line).or_raise();
        (y, gradient)
    }
}

/// The outputs, and the gradient of the first one.
fn differentiate<X: Tree, A: Tree>(
    name: &'static str,
    f: &dyn Fn(&X) -> (Tensor, A),
    x: &X,
    chosen: &Chosen,
    line: Line,
) -> Result<((Tensor, A), X), Error> {
    let _scope = location::scope(line);
    let record = Record::new(name, &mut |x| f(x), x, chosen, line).map_err(|error| error.at(line))?;
    let y = &record.output.0;
    if y.elements() != 1 || !y.dtype().is_float() {
        let shape = Shape::from(y.shape());
        let message = format!("the function returned {}, not one real number", y.spec());
        return Err(Error::new(ErrorKind::SeedNeeded(shape), name, message)
            .at(line)
            .help("reduce the result, for example with .sum(), or use vjp with a cotangent"));
    }
    let mut seeds = vec![None; record.roots.len()];
    seeds[0] = Some(y.full_like(1.0));
    let gradient = filled(&record.input, record.pull(seeds, false)?);
    Ok((record.output, gradient))
}
