//! Reverse mode: a value and the linear map from output cotangents to input cotangents.

use super::expect_like;
use crate::error::OrRaise;
use crate::interp::{Content, Level, LevelKind, Node, Sweep, SweepOptions, Tracer, tape};
use crate::location::{self, Line};
use crate::{Error, Tensor, Tree};
use std::panic::Location;
use std::sync::Arc;

/// The linear map from output cotangents to input cotangents at one point; it can be called many times.
pub struct Pullback<X, Y> {
    /// The input, whose specs the cotangents have; its leaves' places in the graph.
    input: X,
    leaves: Vec<Option<Arc<Node>>>,
    /// The output; its leaves' places in the graph, `None` where it does not depend on the input.
    output: Y,
    roots: Vec<Option<Arc<Node>>>,
}

/// The value of `f` at `x`, and its pullback there.
///
/// ```
/// use wengert::prelude::*;
/// let f = |(a, b): &(Tensor, Tensor)| (a * b, a.sin());
/// let ((product, _), pullback) = vjp(f, &(Tensor::from(2.0), Tensor::from(3.0)));
/// assert_eq!(product.item(), 6.0);
/// let (da, db) = pullback.call(&(Tensor::from(4.0), Tensor::from(5.0)));
/// assert_eq!(db.item(), 8.0);
/// assert_eq!(da.item(), 12.0 + 5.0 * 2.0f64.cos());
/// ```
#[track_caller]
pub fn vjp<X: Tree, Y: Tree>(f: impl FnOnce(&X) -> Y, x: &X) -> (Y, Pullback<X, Y>) {
    record("vjp", f, x, location::resolve(Location::caller()))
}

/// Runs `f` on a fresh reverse level.
pub(super) fn record<X: Tree, Y: Tree>(
    name: &'static str,
    f: impl FnOnce(&X) -> Y,
    x: &X,
    line: Line,
) -> (Y, Pullback<X, Y>) {
    let _scope = location::scope(line);
    let level = Level::open(name, LevelKind::Reverse, line);
    let mut leaves = Vec::new();
    let lifted = x.map_leaves(|leaf| {
        if !leaf.dtype().is_float() {
            leaves.push(None);
            return leaf.clone();
        }
        let node = Node::leaf(line);
        leaves.push(Some(node.clone()));
        tape::lift(&level.0, leaf, node, line)
    });
    let mut roots = Vec::new();
    let mut lower = |leaf: &Tensor| match Tracer::at(leaf, &level.0) {
        Some(Content::Reverse { primal, node }) => {
            roots.push(Some(node.clone()));
            primal.clone()
        }
        _ => {
            roots.push(None);
            leaf.clone()
        }
    };
    let y = f(&lifted).map_leaves(&mut lower);
    let output = y.map_leaves(Tensor::clone);
    (y, Pullback { input: x.map_leaves(Tensor::clone), leaves, output, roots })
}

impl<X: Tree, Y: Tree> Pullback<X, Y> {
    /// The cotangent of the input for this cotangent of the output; leaves without influence give zeros.
    #[track_caller]
    pub fn call(&self, cotangent: &Y) -> X {
        self.pull(cotangent, true, location::resolve(Location::caller())).or_raise()
    }

    pub(super) fn pull(&self, cotangent: &Y, keep: bool, line: Line) -> Result<X, Error> {
        let _scope = location::scope(line);
        expect_like("pullback", "the cotangent", cotangent, &self.output, line)?;
        let seeds = self.roots.iter().zip(cotangent.leaves());
        let seeds: Vec<(&Arc<Node>, &Tensor)> = seeds.filter_map(|(root, seed)| Some((root.as_ref()?, seed))).collect();
        let roots = seeds.iter().map(|(root, _)| *root);
        let mut sweep = Sweep::prepare(roots, None, SweepOptions { keep, create_graph: false })?;
        for (root, seed) in &seeds {
            sweep.seed(root, (*seed).clone());
        }
        let mut received: rustc_hash::FxHashMap<u64, Tensor> =
            sweep.run()?.leaves.into_iter().map(|leaf| (leaf.node.id(), leaf.cotangent)).collect();
        let gradient = |(input, node): (&Tensor, &Option<Arc<Node>>)| {
            let found = node.as_ref().and_then(|node| received.remove(&node.id()));
            found.unwrap_or_else(|| input.full_like(0.0))
        };
        let leaves: Vec<Tensor> = self.input.leaves().into_iter().zip(&self.leaves).map(gradient).collect();
        Ok(self.input.rebuild(leaves))
    }
}
