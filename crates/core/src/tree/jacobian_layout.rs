//! The layout of derivatives of trees with respect to trees: for every leaf of the output, a tree like the input.

use super::{Tree, lies_below};
use crate::{Error, ErrorKind, Tensor};
use std::collections::{BTreeMap, HashMap};
use std::ops::Index;

/// For every leaf of an output, by its path, a tree like the input. The block of output leaf `p` and input leaf `q` has the axes of `p`,
/// followed by those of `q`.
///
/// ```
/// use wengert::prelude::*;
/// let f = |(a, b): &(Tensor, Tensor)| (a * b, a.sin());
/// let rows = jacobian(f)(&(Tensor::from([1.0, 2.0]), Tensor::from(3.0)));
/// assert_eq!(rows["0"].0, Tensor::from([[3.0, 0.0], [0.0, 3.0]]));
/// assert_eq!(rows["0"].1, Tensor::from([1.0, 2.0]));
/// assert_eq!(rows["1"].1, Tensor::from([0.0, 0.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks<X> {
    rows: Vec<(String, X)>,
}

impl<X> Blocks<X> {
    #[doc(hidden)]
    pub fn new(rows: Vec<(String, X)>) -> Blocks<X> {
        Blocks { rows }
    }

    /// The row of the output leaf at `path`.
    pub fn get(&self, path: &str) -> Option<&X> {
        self.rows.iter().find(|(name, _)| name == path).map(|(_, row)| row)
    }

    /// The rows with the paths of their output leaves, in visiting order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &X)> {
        self.rows.iter().map(|(name, row)| (name.as_str(), row))
    }

    /// The only row, for an output that is a single tensor.
    fn only(mut self) -> X {
        self.rows.pop().expect("a tensor has one leaf").1
    }
}

/// # Panics
/// If the output has no leaf at that path; the message lists the existing ones.
impl<X> Index<&str> for Blocks<X> {
    type Output = X;

    #[track_caller]
    fn index(&self, path: &str) -> &X {
        if let Some(row) = self.get(path) {
            return row;
        }
        let all: Vec<String> = self.rows.iter().map(|(name, _)| format!("'{name}'")).collect();
        let below = self.rows.iter().any(|(name, _)| lies_below(name, path));
        let what = if below { "is not a leaf of the output" } else { "is no path of the output" };
        Error::new(ErrorKind::Tree, "jacobian", format!("'{path}' {what}"))
            .help(format!("its leaves are {}", all.join(", ")))
            .raise()
    }
}

/// An output that can be differentiated with respect to a tree.
///
/// The derivative of a tensor with respect to a tree `X` is an `X` whose leaves have the tensor's axes in front. For any other tree it is
/// [`Blocks`] of those, one for each leaf. `#[derive(Tree)]` implements it.
pub trait JacobianLayout: Tree {
    /// The derivative of this with respect to an `X`.
    type Of<X: Tree>;

    /// Arranges the rows of all leaves.
    fn arrange<X: Tree>(rows: Blocks<X>) -> Self::Of<X>;
}

impl JacobianLayout for Tensor {
    type Of<X: Tree> = X;

    fn arrange<X: Tree>(rows: Blocks<X>) -> X {
        rows.only()
    }
}

macro_rules! in_blocks {
    ($([$($generics:tt)*] $tree:ty $(where [$($bounds:tt)*])?;)+) => {$(
        impl<$($generics)*> JacobianLayout for $tree $(where $($bounds)*)? {
            type Of<X: Tree> = Blocks<X>;

            fn arrange<X: Tree>(rows: Blocks<X>) -> Blocks<X> {
                rows
            }
        }
    )+};
}

in_blocks! {
    [] ();
    [A: Tree] (A,);
    [A: Tree, B: Tree] (A, B);
    [A: Tree, B: Tree, C: Tree] (A, B, C);
    [A: Tree, B: Tree, C: Tree, D: Tree] (A, B, C, D);
    [A: Tree, B: Tree, C: Tree, D: Tree, E: Tree] (A, B, C, D, E);
    [A: Tree, B: Tree, C: Tree, D: Tree, E: Tree, F: Tree] (A, B, C, D, E, F);
    [A: Tree, B: Tree, C: Tree, D: Tree, E: Tree, F: Tree, G: Tree] (A, B, C, D, E, F, G);
    [A: Tree, B: Tree, C: Tree, D: Tree, E: Tree, F: Tree, G: Tree, H: Tree] (A, B, C, D, E, F, G, H);
    [T: Tree, const N: usize] [T; N];
    [T: Tree] Vec<T>;
    [T: Tree] Option<T>;
    [T: Tree] Box<T>;
    [K, T: Tree] BTreeMap<K, T> where [BTreeMap<K, T>: Tree];
    [K, T: Tree, S] HashMap<K, T, S> where [HashMap<K, T, S>: Tree];
}
