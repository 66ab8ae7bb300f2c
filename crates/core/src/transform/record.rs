//! A recorded run of a function on its own reverse level, so that its derivative can be applied in both directions.

use crate::interp::{Content, Level, Node, Sweep, SweepOptions, Tracer, push, tape};
use crate::location::{self, Line};
use crate::primitive::Spec;
use crate::tree::{difference, lies_below};
use crate::{Error, ErrorKind, Tensor, Tree, TreePath};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The derivative of a function at one point.
pub struct Record<X, Y> {
    /// The input, which gives the specs of the cotangents, and the graph nodes of its leaves; `None` where nothing is differentiated.
    pub input: X,
    pub leaves: Vec<Option<Arc<Node>>>,
    /// The output and the graph nodes of its leaves; `None` where a leaf does not depend on the input.
    pub output: Y,
    pub roots: Vec<Option<Arc<Node>>>,
}

/// The graph nodes of a tree's leaves.
type Nodes = [Option<Arc<Node>>];

/// Tangents or cotangents of a tree's leaves; `None` is a structural zero.
pub type Flat = Vec<Option<Tensor>>;

impl<X: Tree, Y: Tree> Record<X, Y> {
    /// Runs `f` on a fresh reverse level, with respect to the floating-point leaves that `chosen` names.
    pub fn new(
        name: &'static str,
        f: &mut dyn FnMut(&X) -> Y,
        x: &X,
        chosen: &Chosen,
        line: Line,
    ) -> Result<Self, Error> {
        let chosen = chosen.among(name, x)?;
        let _scope = location::scope(line);
        let level = Level::open(name, tape::Reverse, line);
        let mut leaves = Vec::new();
        let lifted = x.map_leaves(|leaf| {
            if !chosen[leaves.len()] {
                leaves.push(None);
                return leaf.clone();
            }
            let node = Node::leaf(line);
            leaves.push(Some(node.clone()));
            tape::lift(&level.0, leaf, node, line)
        });
        let mut roots = Vec::new();
        let output = f(&lifted).map_leaves(|leaf| match Tracer::at(leaf, &level.0) {
            Some(Content::Reverse { primal, node }) => {
                roots.push(Some(node.clone()));
                primal.clone()
            }
            _ => {
                roots.push(None);
                leaf.clone()
            }
        });
        Ok(Record { input: x.map_leaves(Tensor::clone), leaves, output, roots })
    }

    /// Maps cotangents of the output's leaves to cotangents of the input's. The record is consumed unless `keep` is set.
    pub fn pull(&self, cotangents: Flat, keep: bool) -> Result<Flat, Error> {
        pull_back(&self.roots, &self.leaves, cotangents, keep)
    }

    /// Maps tangents of the input's leaves to tangents of the output's.
    pub fn push(&self, tangents: Flat) -> Result<Flat, Error> {
        push_forward(&self.leaves, &self.roots, tangents)
    }

    /// [`pull`](Record::pull) for a tree; leaves that receive nothing get zeros.
    pub fn pull_tree(&self, caller: &str, cotangent: &Y, keep: bool, line: Line) -> Result<X, Error> {
        let _scope = location::scope(line);
        expect_like(caller, "the cotangent", cotangent, &self.output, line)?;
        Ok(filled(&self.input, self.pull(placed(cotangent, &self.output)?, keep)?))
    }

    /// [`push`](Record::push) for a tree; leaves that receive nothing get zeros.
    pub fn push_tree(&self, caller: &str, tangent: &X, line: Line) -> Result<Y, Error> {
        let _scope = location::scope(line);
        expect_like(caller, "the tangent", tangent, &self.input, line)?;
        Ok(filled(&self.output, self.push(placed(tangent, &self.input)?)?))
    }
}

fn pull_back(roots: &Nodes, leaves: &Nodes, cotangents: Flat, keep: bool) -> Result<Flat, Error> {
    let seeds = roots.iter().zip(cotangents).filter_map(|(root, seed)| Some((root.as_ref()?, seed?)));
    let (roots, seeds): (Vec<&Arc<Node>>, Vec<Tensor>) = seeds.filter(|(_, seed)| !is_structural_zero(seed)).unzip();
    let mut sweep = Sweep::prepare(&roots, None, SweepOptions { keep, create_graph: false })?;
    for (root, seed) in roots.iter().zip(seeds) {
        sweep.seed(root, seed);
    }
    let mut received: FxHashMap<u64, Tensor> =
        sweep.run()?.leaves.into_iter().map(|leaf| (leaf.node.id(), leaf.cotangent)).collect();
    Ok(leaves.iter().map(|node| received.remove(&node.as_ref()?.id())).collect())
}

fn push_forward(leaves: &Nodes, roots: &Nodes, tangents: Flat) -> Result<Flat, Error> {
    let given = leaves.iter().zip(tangents).filter_map(|(node, tangent)| Some((node.as_ref()?, tangent?)));
    let roots: Vec<Option<&Arc<Node>>> = roots.iter().map(Option::as_ref).collect();
    push(&roots, given.filter(|(_, tangent)| !is_structural_zero(tangent)))
}

/// Wraps a function that is called once for callers that take functions by address, so that those are compiled only once.
pub fn once<X, Y>(f: impl FnOnce(&X) -> Y) -> impl FnMut(&X) -> Y {
    let mut f = Some(f);
    move |x| f.take().expect("it is called once")(x)
}

/// All leaves of a tree.
pub fn given<T: Tree>(tree: &T) -> Flat {
    tree.leaves().into_iter().map(|leaf| Some(leaf.clone())).collect()
}

/// The same for seeds or tangents of another tree, each where the leaf is that it belongs to.
pub fn placed<T: Tree>(tree: &T, of: &T) -> Result<Flat, Error> {
    tree.leaves().into_iter().zip(of.leaves()).map(|(leaf, of)| leaf.placed(of).map(Some)).collect()
}

/// A tree like `like` with these leaves, and zeros where a leaf is `None`.
pub fn filled<T: Tree>(like: &T, leaves: Flat) -> T {
    like.rebuild(or_zeros(like.leaves(), leaves))
}

fn or_zeros(like: Vec<&Tensor>, leaves: Flat) -> Vec<Tensor> {
    like.into_iter().zip(leaves).map(|(like, leaf)| leaf.unwrap_or_else(|| like.full_like(0.0))).collect()
}

/// Whether a tensor is zeros without memory, which stand for "nothing arrives": transforms return them for leaves without influence.
fn is_structural_zero(tensor: &Tensor) -> bool {
    tensor.link.is_none() && tensor.splatted().is_some_and(|number| number.item() == 0.0)
}

/// Receives the leaves of a tree.
type Visit<'a> = &'a mut dyn FnMut(&TreePath, &Tensor);

/// The leaves with respect to which a function is differentiated.
pub enum Chosen {
    /// Every floating-point leaf that is not frozen.
    All,
    /// The leaves at or below these paths.
    Below(Vec<String>),
}

impl Chosen {
    /// Whether each leaf of `x` is chosen; a path must name a leaf that can be differentiated.
    fn among<X: Tree>(&self, name: &'static str, x: &X) -> Result<Vec<bool>, Error> {
        self.among_leaves(name, &|visit| x.visit(&mut TreePath::root(), visit))
    }

    fn among_leaves(&self, name: &'static str, leaves: &dyn Fn(Visit<'_>)) -> Result<Vec<bool>, Error> {
        let mut candidates = Vec::new();
        let mut chosen = Vec::new();
        leaves(&mut |path, leaf| {
            let differentiable = leaf.dtype().is_float() && !path.is_frozen();
            chosen.push(differentiable && self.names(path.as_str()));
            if differentiable {
                candidates.push(path.to_string());
            }
        });
        if let Chosen::Below(paths) = self
            && let Some(path) = paths.iter().find(|path| !candidates.iter().any(|leaf| lies_below(leaf, path)))
        {
            let message = format!("no leaf that can be differentiated lies at or below '{path}'");
            return Err(Error::new(ErrorKind::Tree, name, message)
                .help(format!("the leaves that can be are: {}", candidates.join(", "))));
        }
        Ok(chosen)
    }

    fn names(&self, leaf: &str) -> bool {
        match self {
            Chosen::All => true,
            Chosen::Below(paths) => paths.iter().any(|path| lies_below(leaf, path)),
        }
    }
}

/// Checks that two trees have the same structure and leaves of equal shape and dtype; the error names the path where they differ.
pub fn expect_like<T: Tree>(caller: &str, what: &str, tree: &T, like: &T, line: Line) -> Result<(), Error> {
    if let Some(text) = difference(tree, like) {
        return Err(Error::new(ErrorKind::Tree, caller, format!("{what} has another structure: {text}")).at(line));
    }
    expect_specs(caller, what, tree.named_leaves(), like.named_leaves(), line)
}

/// The leaves of a tree with their paths.
type Named<'a> = Vec<(String, &'a Tensor)>;

fn expect_specs(caller: &str, what: &str, leaves: Named<'_>, like: Named<'_>, line: Line) -> Result<(), Error> {
    for ((path, leaf), (_, expected)) in leaves.into_iter().zip(like) {
        let fits: (Spec, Spec) = (leaf.spec(), expected.spec());
        if fits.0 != fits.1 {
            let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
            let message = format!("{what} is {}{at}, where {} is needed", fits.0, fits.1);
            return Err(Error::new(ErrorKind::Tree, caller, message).at(line));
        }
    }
    Ok(())
}
