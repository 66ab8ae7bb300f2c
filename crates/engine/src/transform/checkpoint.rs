//! Checkpoints: recomputing values instead of storing them.

use super::custom::form_of;
use crate::autograd::packing::with_saver;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::memory::{self, Keeps, Region};
use crate::primitive::{Attrs, Primitive};
use crate::{Error, ErrorKind, Tree};
use std::sync::Arc;
use wengert_ops::items::TAG;

/// Returns the same function, but its derivative stores only the inputs and recomputes everything else when the reverse sweep reaches it.
/// Values and gradients have the same bits.
///
/// Captured tensors, including parameters, are differentiated as usual. The function may run more than once, so it must do the same for the
/// same inputs. Random numbers must come from keys that are inputs or captured; side effects of its code are repeated. Operations with an
/// [effect](crate::primitive::Primitive::effect) are not called again; their results are stored. Checkpoints nest and work under every
/// other transform; forward mode stores nothing anyway. In a compiled function the second run is part of the program, behind a `barrier`;
/// values that depend only on captured tensors are computed once.
///
/// ```
/// use wengert::prelude::*;
/// let weight = Tensor::from([2.0, 3.0]).require_grad();
/// let captured = weight.clone();
/// let layer = checkpoint(move |x: &Tensor| (x * &captured).sin().exp());
/// let x = Tensor::from([0.5, 1.0]).require_grad();
/// layer(&x).sum().backward();
/// let slope = |w: f64, x: f64| (w * x).cos() * (w * x).sin().exp();
/// assert_eq!(x.grad().unwrap().to_vec::<f64>(), [2.0 * slope(2.0, 0.5), 3.0 * slope(3.0, 1.0)]);
/// assert_eq!(weight.grad().unwrap().to_vec::<f64>(), [0.5 * slope(2.0, 0.5), slope(3.0, 1.0)]);
/// ```
#[track_caller]
pub fn checkpoint<X, Y>(f: impl Fn(&X) -> Y + Send + Sync + 'static) -> impl Fn(&X) -> Y
where
    X: Tree + Send + Sync + 'static,
{
    recomputed(None, f, location::resolve(Line::caller()))
}

/// Which values a [`checkpoint_with`] keeps from the first run, besides the inputs. The second run takes them and does not make the calls
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy<'n> {
    /// None: everything is computed again, as by [`checkpoint`].
    Nothing,
    /// The results of operations whose work grows faster than their memory: products of matrices, linear layers, convolutions, attention.
    Products,
    /// The results of the operations with these names, such as `matmul`.
    Named(&'n [&'n str]),
    /// The tensors with these tags, which [`Tensor::tag`](crate::methods::TagMethods::tag) gives.
    Tagged(&'n [&'n str]),
}

/// The names of [`Policy::Products`].
const PRODUCTS: [&str; 5] = ["matmul", "linear", "conv", "attention", "self_attention"];

impl Policy<'_> {
    fn keeps(self) -> Option<Arc<Keeps>> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<String>>();
        match self {
            Policy::Nothing => None,
            Policy::Products => calls(|op, _| PRODUCTS.contains(&op.name())),
            Policy::Named(names) => {
                let names = owned(names);
                calls(move |op, _| names.iter().any(|name| name == op.name()))
            }
            Policy::Tagged(tags) => {
                let tags = owned(tags);
                calls(move |op, attrs| op.is(TAG) && tags.iter().any(|tag| tag == attrs.word("name")))
            }
        }
    }
}

fn calls(keeps: impl Fn(&'static dyn Primitive, &Attrs) -> bool + Send + Sync + 'static) -> Option<Arc<Keeps>> {
    Some(Arc::new(keeps))
}

/// [`checkpoint`] that keeps some values, which trades memory for a shorter second run. Values and gradients have the same bits.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[0.5, 1.0]]).require_grad();
/// let layer = |x: &Tensor| x.matmul(&Tensor::ones([2, 2])).tag("product").tanh().exp();
/// checkpoint(layer)(&x).sum().backward();
/// let plain = x.take_grad().unwrap();
/// for policy in [Policy::Products, Policy::Named(&["tanh"]), Policy::Tagged(&["product"])] {
///     checkpoint_with(policy, layer)(&x).sum().backward();
///     assert_eq!(x.take_grad().unwrap(), plain);
/// }
/// ```
#[track_caller]
pub fn checkpoint_with<X, Y>(policy: Policy<'_>, f: impl Fn(&X) -> Y + Send + Sync + 'static) -> impl Fn(&X) -> Y
where
    X: Tree + Send + Sync + 'static,
{
    recomputed(policy.keeps(), f, location::resolve(Line::caller()))
}

fn recomputed<X, Y>(
    keeps: Option<Arc<Keeps>>,
    f: impl Fn(&X) -> Y + Send + Sync + 'static,
    line: Line,
) -> impl Fn(&X) -> Y
where
    X: Tree + Send + Sync + 'static,
{
    let f = Arc::new(f);
    move |x: &X| {
        let (again, form) = (f.clone(), form_of(x));
        let run = move |leaves| drop(again(&form.rebuild(leaves)));
        Region::new(&x.leaves(), keeps.clone(), run, line).record(|| f(x))
    }
}

/// How [`checkpoint_chain`] cuts a chain. A number is [`Segments::Count`].
///
/// ```
/// use wengert::prelude::*;
/// assert_eq!(Segments::from(8), Segments::Count(8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// So many segments of nearly equal length. Each stores its input, and the values inside one are computed again at a time.
    Count(usize),
    /// As many segments as the square root of the number of functions, so that memory grows like that root, and every function runs twice.
    Sqrt,
    /// Halves, whose halves are cut in the same way: memory grows like the logarithm of the number of functions, and so does the number of
    /// times that a function runs.
    Recursive,
    /// The fastest way whose saved values take at most so many bytes, as far as the first function tells: it runs once more, to see what it
    /// saves. If none does, that is an error with the smallest number that would do.
    Within(usize),
}

impl From<usize> for Segments {
    fn from(count: usize) -> Segments {
        Segments::Count(count)
    }
}

/// Applies a chain of functions, cut into segments that compute their saved values again.
///
/// ```
/// use wengert::prelude::*;
/// let layers: Vec<_> = (1..=8).map(|k| move |x: &Tensor| (x * k as f64).sin()).collect();
/// let x = Tensor::linspace(0.1, 0.3, 5);
/// let plain = |x: &Tensor| layers.iter().fold(x.clone(), |x, layer| layer(&x)).sum();
/// for segments in [Segments::Count(2), Segments::Sqrt, Segments::Recursive, Segments::Within(400)] {
///     let saving = |x: &Tensor| checkpoint_chain(&layers, x, segments).sum();
///     assert_eq!(grad(saving)(&x), grad(plain)(&x));
/// }
/// ```
#[track_caller]
pub fn checkpoint_chain<X, F>(layers: &[F], x: &X, segments: impl Into<Segments>) -> X
where
    X: Tree + Send + Sync + 'static,
    F: Fn(&X) -> X + Clone + Send + Sync + 'static,
{
    let line = location::resolve(Line::caller());
    match segments.into() {
        Segments::Count(0) if !layers.is_empty() => {
            let message = format!("{} functions cannot be cut into no segments", layers.len());
            let error = Error::new(ErrorKind::Argument, "checkpoint_chain", message).at(line);
            Err(error.help("ask for at least one")).or_raise()
        }
        Segments::Count(count) => in_segments(layers, x, count, line),
        Segments::Sqrt => in_segments(layers, x, (layers.len() as f64).sqrt().round() as usize, line),
        Segments::Recursive => in_halves(layers.into(), line)(x),
        Segments::Within(bytes) => match fastest_within(layers, x, bytes, line) {
            Some(segments) => checkpoint_chain(layers, x, segments),
            None => applied(layers, x),
        },
    }
}

fn copied<X: Tree>(x: &X) -> X {
    x.map_leaves(crate::Tensor::clone)
}

fn applied<X: Tree, F: Fn(&X) -> X>(layers: &[F], x: &X) -> X {
    layers.iter().fold(copied(x), |x, layer| layer(&x))
}

fn in_segments<X, F>(layers: &[F], x: &X, count: usize, line: Line) -> X
where
    X: Tree + Send + Sync + 'static,
    F: Fn(&X) -> X + Clone + Send + Sync + 'static,
{
    let count = count.min(layers.len());
    let start = |segment: usize| segment * layers.len() / count;
    (0..count).fold(copied(x), |x, segment| {
        let part = layers[start(segment)..start(segment + 1)].to_vec();
        recomputed(None, move |x: &X| applied(&part, x), line)(&x)
    })
}

/// The chain as two checkpoints, each of which is made in the same way. A single function is called as it is.
fn in_halves<X, F>(layers: Arc<[F]>, line: Line) -> Box<dyn Fn(&X) -> X + Send + Sync>
where
    X: Tree + Send + Sync + 'static,
    F: Fn(&X) -> X + Clone + Send + Sync + 'static,
{
    if layers.len() <= 1 {
        return Box::new(move |x| applied(&layers, x));
    }
    let (first, last) = layers.split_at(layers.len() / 2);
    let half = |layers: &[F]| in_halves::<X, F>(layers.into(), line);
    let (first, last) = (Arc::new(half(first)), Arc::new(half(last)));
    Box::new(move |x: &X| {
        let part = |half: &Arc<Box<dyn Fn(&X) -> X + Send + Sync>>| {
            let half = half.clone();
            recomputed(None, move |x: &X| half(x), line)
        };
        part(&last)(&part(&first)(x))
    })
}

/// The fastest way to run a chain whose saved values fit; `None` if all of them do.
fn fastest_within<X, F>(layers: &[F], x: &X, bytes: usize, line: Line) -> Option<Segments>
where
    X: Tree,
    F: Fn(&X) -> X,
{
    let first = layers.first()?;
    // Nobody else is to know of these runs. What the first layer reads is the user's, so the second one shows what layers save.
    let (_, of_layer) = with_saver(None, || match layers.get(1) {
        None => memory::saved_bytes(|| first(x)),
        Some(second) => {
            let y = first(x);
            memory::saved_bytes(|| second(&y))
        }
    });
    let of_input: usize = x.leaves().iter().map(|leaf| leaf.spec().bytes()).sum();
    let count = layers.len();
    if count * of_layer <= bytes {
        return None;
    }
    let need = |segments: usize| segments * of_input + count.div_ceil(segments) * of_layer;
    if let Some(segments) =
        (1..=count).filter(|&segments| need(segments) <= bytes).min_by_key(|&segments| need(segments))
    {
        return Some(Segments::Count(segments));
    }
    // Two inputs for each time that the chain is halved.
    let needed = 2 * of_input * count.next_power_of_two().ilog2() as usize + of_layer;
    if needed <= bytes {
        return Some(Segments::Recursive);
    }
    let smallest = (1..=count).map(need).chain([needed]).min().unwrap_or(needed);
    let message =
        format!("the saved values of {count} functions take at least {smallest} bytes, and {bytes} are allowed");
    Error::new(ErrorKind::Budget { needed: smallest, allowed: bytes }, "checkpoint_chain", message)
        .help("allow more, or make the functions save less: checkpoints inside them help too")
        .at(line)
        .raise()
}
