//! Forward mode: a value and its directional derivative.

use super::record::{expect_like, once};
use crate::error::OrRaise;
use crate::interp::{Content, Level, Tracer, tangent};
use crate::location::{self, Line};
use crate::{Error, ErrorKind, Tensor, Tree, TreePath};

/// The value of `f` at `x`, and its derivative in direction `dx`. Integer leaves have zero tangents, so `dx` must be zero there; tangents
/// of frozen leaves are ignored.
///
/// ```
/// use wengert::prelude::*;
/// let (y, dy) = jvp(|x: &Tensor| x * x, &Tensor::from(3.0), &Tensor::from(1.0));
/// assert_eq!((y.item(), dy.item()), (9.0, 6.0));
/// ```
#[track_caller]
pub fn jvp<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, x: &X, dx: &X) -> (Y, Y) {
    pushed(&mut once(f), x, dx, location::resolve(Line::caller()))
}

fn pushed<X: Tree, Y: Tree>(f: &mut dyn FnMut(&X) -> Y, x: &X, dx: &X, line: Line) -> (Y, Y) {
    let _scope = location::scope(line);
    expect_like("jvp", "the tangent", dx, x, line).or_raise();
    expect_still(dx, line).or_raise();
    let level = Level::open("jvp", tangent::Forward, line);
    let tangents = dx.leaves();
    let mut position = 0;
    let lifted = x.map(&mut TreePath::root(), &mut |path, leaf| {
        let tangent = tangents[position].placed(leaf).or_raise();
        position += 1;
        match leaf.dtype().is_float() && !path.is_frozen() {
            true => tangent::lift(&level.0, leaf, tangent, line),
            false => leaf.clone(),
        }
    });
    let y = f(&lifted);
    let part = |leaf: &Tensor| match Tracer::at(leaf, &level.0) {
        Some(Content::Tangent { primal, tangent }) => (primal.clone(), tangent.clone()),
        _ => (leaf.clone(), leaf.full_like(0.0)),
    };
    (y.map_leaves(|leaf| part(leaf).0), y.map_leaves(|leaf| part(leaf).1))
}

/// Checks that tangents of leaves that are not floats are zero.
fn expect_still<X: Tree>(dx: &X, line: Line) -> Result<(), Error> {
    for (path, tangent) in dx.named_leaves() {
        let moves = || tangent.numbers("jvp").is_ok() && tangent.to_f64_vec().iter().any(|number| *number != 0.0);
        if !tangent.dtype().is_float() && moves() {
            let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
            let message =
                format!("the tangent{at} of {} is not zero: only floating-point tensors move", tangent.spec());
            return Err(Error::new(ErrorKind::NoGradient, "jvp", message).at(line).help(
                "give zeros for it, for example with .zeros_like(), or convert the input with .cast(DType::F64)",
            ));
        }
    }
    Ok(())
}
