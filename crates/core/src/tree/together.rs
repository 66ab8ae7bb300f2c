//! Functions of the leaves of several trees at once.

use super::{Tree, TreePath, difference};
use crate::{Error, ErrorKind, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A tree whose leaves are `f` of the leaves of several trees at the same path. If the structures differ, the error names the path.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::tree::map_together;
///
/// let [low, x, high] = [0.0, 7.0, 5.0].map(|x| (Tensor::from(x), vec![Tensor::from(-x)]));
/// let clipped = map_together([&low, &x, &high], |[low, x, high]| x.maximum(low).minimum(high))?;
/// assert_eq!((clipped.0.item(), clipped.1[0].item()), (5.0, -5.0));
/// # Ok::<(), Error>(())
/// ```
pub fn map_together<T: Tree, const N: usize>(
    trees: [&T; N],
    mut f: impl FnMut([&Tensor; N]) -> Tensor,
) -> Result<T, Error> {
    let Some((first, others)) = trees.split_first() else {
        return Err(Error::new(ErrorKind::Tree, "map_together", "there is no tree"));
    };
    others.iter().try_for_each(|other| same(*first, *other, "map_together"))?;
    let leaves = trees.map(Tree::leaves);
    let mut at = 0..;
    Ok(first.map_leaves(|_| {
        let at = at.next().expect("endless");
        f(leaves.each_ref().map(|leaves| leaves[at]))
    }))
}

/// Changes the leaves of some trees, given those of others, in one pass. If the structures differ, the error names the path, and nothing
/// is changed.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::tree::update_together;
///
/// let mut w = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
/// let (mut velocity, gradient) = (w.zeros_like(), w.clone());
/// update_together([&mut w, &mut velocity], [&gradient], |[w, velocity], [gradient]| {
///     *velocity = &*velocity * 0.9 + gradient;
///     *w -= &*velocity * 0.1;
/// })?;
/// assert_eq!(w.1.item(), 2.7);
/// # Ok::<(), Error>(())
/// ```
pub fn update_together<T: Tree, const M: usize, const N: usize>(
    mut changed: [&mut T; M],
    read: [&T; N],
    mut f: impl FnMut([&mut Tensor; M], [&Tensor; N]),
) -> Result<(), Error> {
    if let Some((first, others)) = changed.split_first() {
        let others = others.iter().map(|other| &**other).chain(read.iter().copied());
        others.into_iter().try_for_each(|other| same(&**first, other, "update_together"))?;
    }
    let read = read.map(Tree::leaves);
    // Leaves leave their trees for the pass, so that each is held once and can be changed in place.
    let mut leaves = changed.each_mut().map(|tree| taken(*tree));
    let count = leaves.first().map_or(0, Vec::len);
    let done = catch_unwind(AssertUnwindSafe(|| {
        for at in 0..count {
            let own = leaves.each_mut().map(|leaves| &mut leaves[at]);
            f(own, read.each_ref().map(|leaves| leaves[at]));
        }
    }));
    for (tree, leaves) in changed.into_iter().zip(leaves) {
        let mut leaves = leaves.into_iter();
        visit(tree, &mut |leaf| *leaf = leaves.next().expect("as many as were taken"));
    }
    done.map_err(|panic| resume_unwind(panic))
}

fn visit<T: Tree>(tree: &mut T, f: &mut dyn FnMut(&mut Tensor)) {
    TreePath::root().quietly(|path| tree.visit_mut(path, &mut |_, leaf| f(leaf)));
}

/// The leaves, with empty tensors in their places.
fn taken<T: Tree>(tree: &mut T) -> Vec<Tensor> {
    let (mut leaves, empty) = (Vec::new(), Tensor::from(0.0));
    visit(tree, &mut |leaf| leaves.push(std::mem::replace(leaf, empty.clone())));
    leaves
}

fn same<T: Tree>(first: &T, other: &T, function: &'static str) -> Result<(), Error> {
    difference(first, other)
        .map_or(Ok(()), |text| Err(Error::new(ErrorKind::Tree, function, format!("the structures differ: {text}"))))
}
