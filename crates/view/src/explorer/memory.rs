//! Memory over time, in the steps of the player: a node of the forward pass takes one step, and one of the reverse pass another.

use super::row::row;
use crate::graph::{Graph, Saved};
use crate::json::{array, object, string};
use std::collections::{HashMap, HashSet};
use wengert_engine::PlanSummary;

/// Pieces of memory over time.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    title: &'static str,
    pieces: Vec<Piece>,
}

/// Some bytes that are needed for a while.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    /// The node that it belongs to.
    node: usize,
    /// The first byte, and their number.
    start: usize,
    bytes: usize,
    /// The first step, and the one after the last.
    first: usize,
    end: usize,
    /// What it holds, as in the text of the program; empty if it is the value of the node.
    variable: String,
}

impl Memory {
    /// The values that a tape keeps. A value is kept from the first record that saves it to the reverse step of that record, which is the last
    /// one that needs it: so pieces are a stack. `None` if nothing is kept.
    pub fn of_tape(graph: &Graph) -> Option<Memory> {
        let nodes = graph.nodes();
        let (mut known, mut pieces, mut start) = (HashSet::new(), Vec::new(), 0);
        for (place, node) in nodes.iter().enumerate() {
            let Some(reverse) = node.reverse else { continue };
            for Saved { what, node: of, bytes, .. } in &node.saved {
                let is_new = of.is_none_or(|of| known.insert((of, what.starts_with("shape"))));
                if *bytes == 0 || !is_new {
                    continue;
                }
                let end = nodes.len() + reverse + 1;
                pieces.push(Piece {
                    node: of.unwrap_or(place),
                    start,
                    bytes: *bytes,
                    first: place,
                    end,
                    variable: String::new(),
                });
                start += bytes;
            }
        }
        (!pieces.is_empty()).then_some(Memory { title: "Values kept for the reverse pass", pieces })
    }

    /// The workspace of a plan. `None` if there is none, or if its kernels are collapsed.
    pub fn of_plan(graph: &Graph, plan: &PlanSummary) -> Option<Memory> {
        let nodes = graph.nodes().iter().enumerate();
        let places: HashMap<&str, usize> = nodes.map(|(place, node)| (node.id.as_str(), place)).collect();
        let head = |kernel: usize| places.get(format!("kernel {kernel}").as_str()).copied();
        // A kernel takes the steps of its equations too.
        let end = |kernel: usize| {
            let next = if kernel + 1 < plan.kernels() { head(kernel + 1) } else { None };
            next.or_else(|| Some(head(kernel)? + plan.kernel_equations(kernel).len() + 1))
        };
        let piece = |piece: &wengert_engine::WorkspacePiece| {
            let (node, end) = (head(piece.first)?, end(piece.last)?);
            let variable = piece.variable.map_or_else(|| "scratch".to_string(), |number| format!("v{number}"));
            Some(Piece { node, start: piece.start, bytes: piece.bytes, first: node, end, variable })
        };
        let pieces: Vec<Piece> = plan.pieces().iter().map(piece).collect::<Option<_>>()?;
        (!pieces.is_empty()).then_some(Memory { title: "Workspace of a call", pieces })
    }

    pub fn json(&self) -> String {
        let piece = |Piece { node, start, bytes, first, end, variable }: &Piece| {
            let numbers = [node, start, bytes, first, end].into_iter().map(ToString::to_string);
            let variable = (!variable.is_empty()).then(|| string(variable));
            row(numbers.chain(variable).collect())
        };
        object(&[("title", string(self.title)), ("pieces", array(self.pieces.iter().map(piece)))])
    }
}
