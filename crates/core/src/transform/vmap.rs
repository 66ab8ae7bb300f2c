//! Batching: one call for many inputs.

use crate::error::OrRaise;
use crate::interp::{Content, Level, Tracer, batch};
use crate::location::{self, Line};
use crate::tree::lies_below;
use crate::{Error, ErrorKind, Shape, Tensor, Tree};

/// Vectorises `f`: the returned function applies `f` to every element of a batch. Every leaf of the input and of the output has the batch
/// along axis 0; [`vmap_with`] takes other axes. Random keys follow the same rule: a batch of keys draws different numbers for every
/// element, a captured or shared key draws the same.
///
/// ```
/// use wengert::prelude::*;
/// let gradients = vmap(grad(|x: &Tensor| (x * x).sum()));
/// assert_eq!(gradients(&Tensor::from([[1.0, 2.0], [3.0, 4.0]])), Tensor::from([[2.0, 4.0], [6.0, 8.0]]));
/// ```
#[track_caller]
pub fn vmap<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y) -> impl Fn(&X) -> Y {
    vmap_with(Axes::new(), f)
}

/// [`vmap`] with the batch along other axes, or along none.
///
/// ```
/// use wengert::prelude::*;
/// let product = |(w, x): &(Tensor, Tensor)| w.matmul(x);
/// // One matrix for all, vectors as columns, results as columns.
/// let axes = Axes::new().shared("0").input("1", 1).output("", 1);
/// let (w, x) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]));
/// assert_eq!(vmap_with(axes, product)(&(w.clone(), x.clone())), w.matmul(&x));
/// ```
#[track_caller]
pub fn vmap_with<X: Tree, Y: Tree>(axes: Axes, f: impl Fn(&X) -> Y) -> impl Fn(&X) -> Y {
    let line = location::resolve(Line::caller());
    move |x| mapped(&axes, &f, x, line)
}

/// The batch axis of every leaf: axis 0, unless set for the leaf's path or for a path above it. The longest matching path wins, and the
/// empty path is the root. Negative axes count from the end.
///
/// ```
/// use wengert::prelude::*;
/// let axes = Axes::new().shared("model").input("images", 3).output("", -1);
/// assert_eq!(axes, axes.clone());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    inputs: Vec<(String, Option<isize>)>,
    outputs: Vec<(String, isize)>,
}

impl Axes {
    /// Axis 0 everywhere.
    pub fn new() -> Axes {
        Axes::default()
    }

    /// The input leaves at or below `path` have the batch along `axis`.
    pub fn input(mut self, path: impl Into<String>, axis: isize) -> Axes {
        self.inputs.push((path.into(), Some(axis)));
        self
    }

    /// The input leaves at or below `path` are the same for every element of the batch.
    pub fn shared(mut self, path: impl Into<String>) -> Axes {
        self.inputs.push((path.into(), None));
        self
    }

    /// The output leaves at or below `path` get the batch along `axis`.
    pub fn output(mut self, path: impl Into<String>, axis: isize) -> Axes {
        self.outputs.push((path.into(), axis));
        self
    }
}

/// The setting for the longest path above a leaf; later settings win.
fn said<T: Copy>(list: &[(String, T)], leaf: &str, otherwise: T) -> T {
    let above = list.iter().filter(|(path, _)| lies_below(leaf, path));
    above.max_by_key(|(path, _)| path.len()).map_or(otherwise, |(_, said)| *said)
}

/// Checks that every path in the list names a leaf.
fn expect_paths<T, X: Tree>(list: &[(String, T)], what: &str, tree: &X) -> Result<(), Error> {
    let leaves: Vec<String> = tree.named_leaves().into_iter().map(|(name, _)| name).collect();
    match list.iter().find(|(path, _)| !leaves.iter().any(|leaf| lies_below(leaf, path))) {
        None => Ok(()),
        Some((path, _)) => {
            Err(Error::new(ErrorKind::Tree, "vmap", format!("the {what} has no leaf at or below '{path}'"))
                .help(format!("its leaves are: {}", leaves.join(", "))))
        }
    }
}

fn mapped<X: Tree, Y: Tree>(axes: &Axes, f: &dyn Fn(&X) -> Y, x: &X, line: Line) -> Y {
    let _scope = location::scope(line);
    let (front, size) = in_front(axes, x).map_err(|error| error.at(line)).or_raise();
    let level = Level::open("vmap", batch::Batch { size }, line);
    let mut front = front.into_iter();
    let y = f(&x.map_leaves(|leaf| match front.next().flatten() {
        Some(values) => batch::lift(&level.0, &values, line),
        None => leaf.clone(),
    }));
    let whole = y.map_leaves(|leaf| match Tracer::at(leaf, &level.0) {
        Some(Content::Batch { values }) => values.clone(),
        _ => leaf.broadcast_to(Shape::from(leaf.shape()).prepended(size)),
    });
    placed(axes, whole).map_err(|error| error.at(line)).or_raise()
}

/// The batched leaves of the input with the batch along axis 0, `None` for shared ones, and the size of the batch.
fn in_front<X: Tree>(axes: &Axes, x: &X) -> Result<(Vec<Option<Tensor>>, usize), Error> {
    expect_paths(&axes.inputs, "input", x)?;
    let named = |path: &str| named(path, "the input");
    let mut found: Option<(String, usize)> = None;
    let mut front = Vec::new();
    for (path, leaf) in x.named_leaves() {
        let wrong = |message: String| {
            Err(Error::new(ErrorKind::Shape(vec![Shape::from(leaf.shape())]), "vmap", message)
                .help("the batch lies along axis 0 of every leaf; vmap_with takes other axes and shared leaves"))
        };
        let Some(axis) = said(&axes.inputs, &path, Some(0)) else {
            front.push(None);
            continue;
        };
        let Some(place) = counted(axis, leaf.rank()) else {
            return match leaf.rank() {
                0 => wrong(format!("{} is a scalar, so it has no batch axis", named(&path))),
                _ => wrong(format!("{} has shape {:?}, so it has no axis {axis}", named(&path), leaf.shape())),
            };
        };
        let size = leaf.shape()[place];
        match &found {
            None => found = Some((path, size)),
            Some((first, expected)) if *expected != size => {
                let (first, path) = (named(first), named(&path));
                return wrong(format!("{first} has a batch of {expected}, {path} one of {size}"));
            }
            Some(_) => {}
        }
        front.push(Some(if place == 0 { leaf.clone() } else { moved(leaf, place, 0) }));
    }
    let none = || Error::new(ErrorKind::Tree, "vmap", "no leaf of the input has a batch");
    found.map(|(_, size)| (front, size)).ok_or_else(none)
}

/// The output with the batch moved to the requested axes.
fn placed<Y: Tree>(axes: &Axes, y: Y) -> Result<Y, Error> {
    if axes.outputs.is_empty() {
        return Ok(y);
    }
    expect_paths(&axes.outputs, "output", &y)?;
    let mut leaves = Vec::new();
    for (path, leaf) in y.named_leaves() {
        let axis = said(&axes.outputs, &path, 0);
        let Some(place) = counted(axis, leaf.rank()) else {
            let message =
                format!("{} with its batch has {} axes, so none is {axis}", named(&path, "the output"), leaf.rank());
            return Err(Error::new(ErrorKind::Shape(vec![Shape::from(leaf.shape())]), "vmap", message));
        };
        leaves.push(if place == 0 { leaf.clone() } else { moved(leaf, 0, place) });
    }
    Ok(y.rebuild(leaves))
}

/// A leaf as a phrase for messages.
fn named(path: &str, whole: &str) -> String {
    if path.is_empty() { whole.to_string() } else { format!("'{path}'") }
}

/// The axis counted from the front, if it is in range.
fn counted(axis: isize, rank: usize) -> Option<usize> {
    let place = if axis < 0 { axis + rank as isize } else { axis };
    usize::try_from(place).ok().filter(|place| *place < rank)
}

/// Moves one axis to another position.
fn moved(x: &Tensor, from: usize, to: usize) -> Tensor {
    let mut order: Vec<usize> = (0..x.rank()).filter(|&axis| axis != from).collect();
    order.insert(to, from);
    x.permute(&order)
}
