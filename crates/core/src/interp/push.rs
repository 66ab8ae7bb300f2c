//! The forward sweep: runs the tangent rules of recorded calls, oldest first.
//!
//! The values that a call saves suffice for both of its rules, so one recording is a linear map that can be applied in either direction,
//! any number of times.

use super::sweep::freed;
use super::window::Window;
use super::{Node, Role};
use crate::location;
use crate::primitive::{Adjoints, Mask};
use crate::{Error, Tensor};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The tangents of `roots` for these tangents of leaves; `None` where nothing arrives.
pub fn push<'g>(
    roots: &[Option<&'g Arc<Node>>],
    tangents: impl Iterator<Item = (&'g Arc<Node>, Tensor)>,
) -> Result<Vec<Option<Tensor>>, Error> {
    let nodes = below(roots);
    let place: FxHashMap<u64, usize> = nodes.iter().enumerate().map(|(place, node)| (node.id(), place)).collect();
    // The number of readers left: a tangent is freed by its last reader.
    let mut readers = vec![0u32; nodes.len()];
    let edges = nodes.iter().flat_map(|node| node.edges().iter().flatten());
    for node in edges.chain(roots.iter().copied().flatten()) {
        readers[place[&node.id()]] += 1;
    }
    let mut known: Vec<Adjoints> = (0..nodes.len()).map(|_| Adjoints::new()).collect();
    for (leaf, tangent) in tangents {
        if let Some(&place) = place.get(&leaf.id()) {
            known[place] = smallvec![Some(tangent)];
        }
    }
    let _line = location::inherit(None);
    for (at, node) in nodes.iter().enumerate() {
        let mut read = |from: &Arc<Node>, output: usize| {
            let from = place[&from.id()];
            readers[from] -= 1;
            let tangent = known[from].get(output).cloned().flatten();
            if readers[from] == 0 {
                known[from].clear();
            }
            tangent
        };
        known[at] = match node.role() {
            Role::Leaf => continue,
            Role::Output(position) => smallvec![node.edges()[0].as_ref().and_then(|call| read(call, position))],
            Role::Operation => {
                let edges = node.edges()[..node.operand_count()].iter();
                let tangents: SmallVec<[Option<Tensor>; 4]> =
                    edges.map(|edge| edge.as_ref().and_then(|edge| read(edge, 0))).collect();
                apply(node, &tangents)?
            }
        };
    }
    let arrived = |root: &Option<&Arc<Node>>| root.and_then(|root| known[place[&root.id()]].first().cloned().flatten());
    Ok(roots.iter().map(arrived).collect())
}

/// Every record below `roots`, leaves included, oldest first.
fn below<'g>(roots: &[Option<&'g Arc<Node>>]) -> Vec<&'g Arc<Node>> {
    let mut stack: Vec<&'g Arc<Node>> = roots.iter().copied().flatten().collect();
    let mut window = Window::below(stack.iter().map(|node| node.id()).max().unwrap_or(0));
    let mut nodes = Vec::new();
    while let Some(node) = stack.pop() {
        if window.see(node.id()) {
            nodes.push(node);
            stack.extend(node.edges().iter().flatten());
        }
    }
    nodes.sort_unstable_by_key(|node| node.id());
    nodes
}

fn apply(node: &Arc<Node>, tangents: &[Option<Tensor>]) -> Result<Adjoints, Error> {
    let given = Mask::of(tangents.len(), |position| tangents[position].is_some());
    if given.is_empty() {
        return Ok(Adjoints::new());
    }
    location::set_inherited(node.line);
    let Some(rule) = node.rule(given, true, None)? else { return Err(freed(node)) };
    Ok(node.op().jvp(&rule, tangents))
}
