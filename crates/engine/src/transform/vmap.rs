//! Batching: one call for many inputs.

use crate::interp::{Content, Level, LevelKind, Tracer, batch};
use crate::location;
use crate::{Error, ErrorKind, Shape, Tree};
use std::panic::Location;

/// The function that applies `f` to every element of a batch: every leaf of the input, and of the output, has the batch
/// along axis 0. Random keys follow the same rule: a batch of keys draws different numbers, a captured key the same.
///
/// ```
/// use wengert::prelude::*;
/// let gradients = vmap(grad(|x: &Tensor| (x * x).sum()));
/// assert_eq!(gradients(&Tensor::from([[1.0, 2.0], [3.0, 4.0]])), Tensor::from([[2.0, 4.0], [6.0, 8.0]]));
/// ```
#[track_caller]
pub fn vmap<X: Tree, Y: Tree>(f: impl Fn(&X) -> Y) -> impl Fn(&X) -> Y {
    let line = location::resolve(Location::caller());
    move |x: &X| {
        let _scope = location::scope(line);
        let size = batch_size(x).unwrap_or_else(|error| error.at(line).raise());
        let level = Level::open("vmap", LevelKind::Batch { size }, line);
        let y = f(&x.map_leaves(|leaf| batch::lift(&level.0, leaf, line)));
        y.map_leaves(|leaf| match Tracer::at(leaf, &level.0) {
            Some(Content::Batch { values }) => values.clone(),
            _ => leaf.broadcast_to(Shape::from(leaf.shape()).prepended(size)),
        })
    }
}

fn batch_size<X: Tree>(x: &X) -> Result<usize, Error> {
    let mut found: Option<(String, usize)> = None;
    let named = |path: &str| if path.is_empty() { "the input".to_string() } else { format!("'{path}'") };
    for (path, leaf) in x.named_leaves() {
        let wrong = |message: String| {
            Err(Error::new(ErrorKind::Shape(vec![Shape::from(leaf.shape())]), "vmap", message)
                .help("every leaf of the input has the batch along axis 0"))
        };
        let Some(&size) = leaf.shape().first() else {
            return wrong(format!("{} is a scalar, so it has no batch axis", named(&path)));
        };
        match &found {
            None => found = Some((path, size)),
            Some((first, expected)) if *expected != size => {
                let (first, path) = (named(first), named(&path));
                return wrong(format!("{first} has a batch of {expected}, {path} one of {size}"));
            }
            Some(_) => {}
        }
    }
    found.map(|(_, size)| size).ok_or_else(|| Error::new(ErrorKind::Tree, "vmap", "the input has no tensors"))
}
