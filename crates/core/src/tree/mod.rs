//! Trees of tensors: the arguments and results of functions, and what they are differentiated with respect to.
//!
//! A tree is a value that contains tensors, each at a named path. Every traversal of a tree visits the same leaves in the same order, so a
//! flat list of tensors together with a tree of the right structure carries the same information: `t.rebuild(leaves of t) == t`.

mod jacobian_layout;
mod path;
mod together;

pub use jacobian_layout::{Blocks, JacobianLayout};
pub use path::{TreePath, Word, lies_below};
pub use together::{map_together, update_together};

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::hash::{BuildHasher, Hash};

use crate::{Error, Tensor};

/// A value whose leaves are tensors.
///
/// Tensors, `()`, tuples, arrays, `Vec`, `Option`, `Box` and maps (in the order of their keys) are trees; a struct or an enum becomes one
/// with `#[derive(Tree)]`. `visit`, `map` and `describe` must traverse the leaves in the same order.
///
/// ```
/// use wengert::prelude::*;
///
/// #[derive(Tree)]
/// struct Linear {
///     weight: Tensor,
///     bias: Option<Tensor>,
/// }
///
/// let layer = Linear { weight: Tensor::from([1.0, 2.0]), bias: Some(Tensor::from(0.5)) };
/// let names: Vec<String> = layer.named_leaves().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["weight", "bias"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of tensors",
    note = "derive it with `#[derive(Tree)]`; a field without tensors is marked `#[tree(static)]`"
)]
pub trait Tree: Sized {
    /// Calls `f` with every leaf and its path, in a fixed order.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let pair = (Tensor::from(1.0), Tensor::from([2.0, 3.0]));
    /// let mut names = Vec::new();
    /// pair.visit(&mut TreePath::root(), &mut |path, _| names.push(path.to_string()));
    /// assert_eq!(names, ["0", "1"]);
    /// ```
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor));

    /// A tree of the same structure with the leaves that `f` returns.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let pair = (Tensor::from(1.0), Tensor::from([2.0, 3.0]));
    /// let frozen = pair.map(&mut TreePath::root(), &mut |path, leaf| match path.as_str() {
    ///     "0" => Tensor::from(0.0),
    ///     _ => leaf.clone(),
    /// });
    /// assert_eq!(frozen.leaves().len(), 2);
    /// ```
    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self;

    /// Calls `f` with every leaf, to be updated or replaced, in the same order.
    ///
    /// The provided method hands out copies, so that nothing is updated in place.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let mut pair = (Tensor::from(1.0), Tensor::from(2.0));
    /// pair.visit_mut(&mut TreePath::root(), &mut |_, leaf| *leaf += 10.0);
    /// assert_eq!(pair.1.item(), 12.0);
    /// ```
    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        *self = self.map(path, &mut |path, leaf| {
            let mut leaf = leaf.clone();
            f(path, &mut leaf);
            leaf
        });
    }

    /// Calls `f` with the structure: `"tensor"` for every leaf and, between them, a word for everything else in which two values of this
    /// type can differ: the name of a variant, a length, the keys of a map, the `Debug` text of a static field.
    ///
    /// The provided method lists only the leaves.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let mut words = Vec::new();
    /// let list = vec![Tensor::from(1.0)];
    /// list.describe(&mut TreePath::root(), &mut |_, word| words.push(word.to_string()));
    /// assert_eq!(words, ["length 1", "tensor"]);
    /// ```
    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        self.visit(path, &mut |path, _| f(path, TENSOR));
    }

    /// Every leaf, in visiting order.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let tree = (Tensor::from(1.0), vec![Tensor::from(2.0), Tensor::from(3.0)]);
    /// assert_eq!(tree.leaves().len(), 3);
    /// ```
    fn leaves(&self) -> Vec<&Tensor> {
        let mut leaves = Vec::new();
        TreePath::root().quietly(|path| self.visit(path, &mut |_, leaf| leaves.push(leaf)));
        leaves
    }

    /// Every leaf with its path, in visiting order.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let tree = (Tensor::from(1.0), vec![Tensor::from(2.0), Tensor::from(3.0)]);
    /// assert_eq!(tree.named_leaves()[2].0, "1.1");
    /// ```
    fn named_leaves(&self) -> Vec<(String, &Tensor)> {
        let mut leaves = Vec::new();
        self.visit(&mut TreePath::root(), &mut |path, leaf| {
            leaves.push((path.to_string(), leaf));
        });
        leaves
    }

    /// [`map`](Tree::map) for a function that needs no path.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let tree = vec![Tensor::from(1.0), Tensor::from(2.0)];
    /// let copy = tree.map_leaves(|leaf| leaf.clone());
    /// assert_eq!(copy.len(), 2);
    /// ```
    fn map_leaves(&self, mut f: impl FnMut(&Tensor) -> Tensor) -> Self {
        TreePath::root().quietly(|path| self.map(path, &mut |_, leaf| f(leaf)))
    }

    /// A tree of the same structure whose leaves are `f` of the two leaves at the same path. If the structures differ, the error names the
    /// path.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let (a, b) = ((Tensor::from(1.0), Tensor::from(2.0)), (Tensor::from(3.0), Tensor::from(4.0)));
    /// let sum = a.zip_leaves(&b, |a, b| a + b).unwrap();
    /// assert_eq!((sum.0.item(), sum.1.item()), (4.0, 6.0));
    /// assert!(vec![a].zip_leaves(&vec![], |a, _| a.clone()).is_err());
    /// ```
    fn zip_leaves(&self, other: &Self, mut f: impl FnMut(&Tensor, &Tensor) -> Tensor) -> Result<Self, Error> {
        map_together([self, other], |[a, b]| f(a, b)).map_err(|error| error.renamed(|_| "zip_leaves".to_string()))
    }

    /// A tree of the same structure whose leaves are zeros of the same shapes and dtypes.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let tree = (Tensor::from([1.0, 2.0]), vec![Tensor::from(3i64)]);
    /// assert_eq!(tree.zeros_like().1[0], Tensor::from(0i64));
    /// ```
    fn zeros_like(&self) -> Self {
        self.map_leaves(Tensor::zeros_like)
    }

    /// A tree of the same structure with these leaves, in visiting order.
    ///
    /// # Panics
    /// If the number of tensors differs from the number of leaves.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let tree = (Tensor::from(1.0), Some(Tensor::from(2.0)));
    /// let other = tree.rebuild([Tensor::from(3.0), Tensor::from(4.0)]);
    /// assert!(other.1.is_some());
    /// ```
    fn rebuild(&self, leaves: impl IntoIterator<Item = Tensor>) -> Self {
        let mut leaves = leaves.into_iter();
        let mut used = 0;
        let tree = self.map(&mut TreePath::root(), &mut |path, _| {
            let leaf = leaves.next().unwrap_or_else(|| {
                let wanted = self.leaves().len();
                panic!("rebuild: no tensor for `{path}`: {used} given, {wanted} wanted")
            });
            used += 1;
            leaf
        });
        if leaves.next().is_some() {
            panic!("rebuild: a tensor is left over: {used} wanted, more given");
        }
        tree
    }

    /// The output of [`describe`](Tree::describe), as pairs of path and description.
    ///
    /// ```
    /// use wengert::prelude::*;
    ///
    /// let structure = Some(Tensor::from(1.0)).structure();
    /// assert_eq!(structure[0], (String::new(), "some".to_string()));
    /// assert_eq!(structure[1], (String::new(), "tensor".to_string()));
    /// ```
    fn structure(&self) -> Vec<(String, String)> {
        let mut structure = Vec::new();
        self.describe(&mut TreePath::root(), &mut |path, description| {
            structure.push((path.to_string(), description.to_string()));
        });
        structure
    }
}

/// How a leaf appears in a structure.
pub const TENSOR: &str = "tensor";

/// The first difference between two structures as a sentence, or `None` if they are equal.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::tree::difference;
///
/// let (one, two) = (Tensor::from(1.0), Tensor::from(2.0));
/// assert_eq!(difference(&one, &two), None);
/// assert_eq!(
///     difference(&(one.clone(), two), &(one,)).unwrap(),
///     "1: a tensor on the left, nothing on the right",
/// );
/// ```
pub fn difference<A: Tree, B: Tree>(a: &A, b: &B) -> Option<String> {
    difference_of(&a.structure(), &b.structure())
}

/// [`difference`] of the structures.
fn difference_of(left: &[(String, String)], right: &[(String, String)]) -> Option<String> {
    let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
    let (left, right) = (&left[same..], &right[same..]);

    for (path, _) in left.first().into_iter().chain(right.first()) {
        let (on_left, on_right) = (described(left, path), described(right, path));
        if on_left != on_right {
            let (place, on_left, on_right) = (place(path), phrase(on_left), phrase(on_right));
            return Some(format!("{place}: {on_left} on the left, {on_right} on the right"));
        }
    }
    // Both sides have the same paths with the same descriptions, so only the order can differ.
    let ((path, _), (other, _)) = left.first().zip(right.first())?;
    let (place, other) = (place(path), place(other));
    Some(format!("{place}: before {other} on the left, after it on the right"))
}

fn described<'a>(structure: &'a [(String, String)], path: &str) -> Option<&'a str> {
    structure.iter().find(|(at, _)| at == path).map(|(_, description)| description.as_str())
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}

fn phrase(description: Option<&str>) -> &str {
    match description {
        None => "nothing",
        Some(TENSOR) => "a tensor",
        Some(description) => description,
    }
}

impl Tree for Tensor {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        f(path, self);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        f(path, self);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        f(path, self)
    }
}

impl Tree for () {
    fn visit<'a>(&'a self, _: &mut TreePath, _: &mut dyn FnMut(&TreePath, &'a Tensor)) {}

    fn visit_mut(&mut self, _: &mut TreePath, _: &mut dyn FnMut(&TreePath, &mut Tensor)) {}

    fn map(&self, _: &mut TreePath, _: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {}
}

macro_rules! tuple {
    ($($T:ident.$index:tt),+) => {
        impl<$($T: Tree),+> Tree for ($($T,)+) {
            fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
                $(path.within($index, |path| self.$index.visit(path, f));)+
            }

            fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
                $(path.within($index, |path| self.$index.visit_mut(path, f));)+
            }

            fn map(
                &self,
                path: &mut TreePath,
                f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor,
            ) -> Self {
                ($(path.within($index, |path| self.$index.map(path, f)),)+)
            }

            fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
                $(path.within($index, |path| self.$index.describe(path, f));)+
            }
        }
    };
}

tuple!(A.0);
tuple!(A.0, B.1);
tuple!(A.0, B.1, C.2);
tuple!(A.0, B.1, C.2, D.3);
tuple!(A.0, B.1, C.2, D.3, E.4);
tuple!(A.0, B.1, C.2, D.3, E.4, F.5);
tuple!(A.0, B.1, C.2, D.3, E.4, F.5, G.6);
tuple!(A.0, B.1, C.2, D.3, E.4, F.5, G.6, H.7);

// Traversals shared by all containers: the entries in order, each under its index or key.

fn visit_entries<'a, K: Word, T: Tree + 'a>(
    entries: impl IntoIterator<Item = (K, &'a T)>,
    path: &mut TreePath,
    f: &mut dyn FnMut(&TreePath, &'a Tensor),
) {
    for (key, entry) in entries {
        path.within(key, |path| entry.visit(path, f));
    }
}

fn visit_entries_mut<'a, K: Word, T: Tree + 'a>(
    entries: impl IntoIterator<Item = (K, &'a mut T)>,
    path: &mut TreePath,
    f: &mut dyn FnMut(&TreePath, &mut Tensor),
) {
    for (key, entry) in entries {
        path.within(key, |path| entry.visit_mut(path, f));
    }
}

fn map_entries<'a, K: Word, T: Tree + 'a>(
    entries: impl IntoIterator<Item = (K, &'a T)>,
    path: &mut TreePath,
    f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor,
) -> impl Iterator<Item = (K, T)> {
    entries.into_iter().map(move |(key, entry)| {
        let mapped = path.within(&key, |path| entry.map(path, f));
        (key, mapped)
    })
}

fn describe_entries<'a, K: Word, T: Tree + 'a>(
    entries: impl IntoIterator<Item = (K, &'a T)>,
    path: &mut TreePath,
    f: &mut dyn FnMut(&TreePath, &str),
) {
    for (key, entry) in entries {
        path.within(key, |path| entry.describe(path, f));
    }
}

/// The length is part of the type, so it is not described.
impl<T: Tree, const N: usize> Tree for [T; N] {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        visit_entries(self.iter().enumerate(), path, f);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        visit_entries_mut(self.iter_mut().enumerate(), path, f);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        std::array::from_fn(|index| path.within(index, |path| self[index].map(path, f)))
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        describe_entries(self.iter().enumerate(), path, f);
    }
}

impl<T: Tree> Tree for Vec<T> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        visit_entries(self.iter().enumerate(), path, f);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        visit_entries_mut(self.iter_mut().enumerate(), path, f);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        map_entries(self.iter().enumerate(), path, f).map(|(_, entry)| entry).collect()
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        path.say(("length ", self.len()), f);
        describe_entries(self.iter().enumerate(), path, f);
    }
}

impl<T: Tree> Tree for Option<T> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        if let Some(tree) = self {
            tree.visit(path, f);
        }
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        if let Some(tree) = self {
            tree.visit_mut(path, f);
        }
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        self.as_ref().map(|tree| tree.map(path, f))
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        match self {
            None => f(path, "none"),
            Some(tree) => {
                f(path, "some");
                tree.describe(path, f);
            }
        }
    }
}

impl<T: Tree> Tree for Box<T> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        (**self).visit(path, f);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        (**self).visit_mut(path, f);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        Box::new((**self).map(path, f))
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        (**self).describe(path, f);
    }
}

/// A key of a map.
struct Key<K>(K);

impl<K: Display> Word for Key<K> {
    fn push_to(&self, text: &mut String) {
        format_args!("{}", self.0).push_to(text);
    }
}

/// The entries of a map with their keys.
fn keyed<K, E>(entries: impl IntoIterator<Item = (K, E)>) -> impl Iterator<Item = (Key<K>, E)> {
    entries.into_iter().map(|(key, entry)| (Key(key), entry))
}

/// Keys are described at the map itself, because an entry without leaves would not mention its key.
fn describe_keys<K: Display>(
    keys: impl Iterator<Item = K> + Clone,
    path: &mut TreePath,
    f: &mut dyn FnMut(&TreePath, &str),
) {
    path.say(format_args!("{}", Keys(keys)), f);
}

struct Keys<I>(I);

impl<K: Display, I: Iterator<Item = K> + Clone> Display for Keys<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("keys [")?;
        for (number, key) in self.0.clone().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            // Quoted, so that one key cannot look like two.
            write!(formatter, "{comma}{:?}", key.to_string())?;
        }
        formatter.write_str("]")
    }
}

/// Keys are identified by their `Display` text: two keys with the same text are the same key to a compiled function.
impl<K: Ord + Clone + Display, T: Tree> Tree for BTreeMap<K, T> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        visit_entries(keyed(self), path, f);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        visit_entries_mut(keyed(self.iter_mut()), path, f);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        map_entries(keyed(self), path, f).map(|(Key(key), entry)| (key.clone(), entry)).collect()
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        describe_keys(self.keys(), path, f);
        describe_entries(keyed(self), path, f);
    }
}

/// The iteration order of a hash map differs from run to run; the order of its sorted keys does not.
fn sorted<K: Ord, T, S>(map: &HashMap<K, T, S>) -> BTreeMap<&K, &T> {
    map.iter().collect()
}

impl<K, T, S> Tree for HashMap<K, T, S>
where
    K: Ord + Hash + Clone + Display,
    T: Tree,
    S: BuildHasher + Clone,
{
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        visit_entries(keyed(sorted(self)), path, f);
    }

    fn visit_mut(&mut self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &mut Tensor)) {
        let sorted: BTreeMap<&K, &mut T> = self.iter_mut().collect();
        visit_entries_mut(keyed(sorted), path, f);
    }

    fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
        let mut mapped = HashMap::with_capacity_and_hasher(self.len(), self.hasher().clone());
        mapped.extend(map_entries(keyed(sorted(self)), path, f).map(|(Key(key), entry)| (key.clone(), entry)));
        mapped
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        let sorted = sorted(self);
        describe_keys(sorted.keys(), path, f);
        describe_entries(keyed(sorted), path, f);
    }
}
