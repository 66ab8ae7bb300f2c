//! Graphs of tapes.

use crate::graph::collapse::MOST_NODES;
use crate::graph::formula::formula;
use crate::graph::model::{Edge, EdgeKind, Graph, Node, NodeKind, Saved};
use crate::graph::numbers::counted;
use crate::graph::summary::Summary;
use std::collections::{HashMap, HashSet};
use std::fmt;
use wengert_engine::Tensor;
use wengert_engine::autograd::{Tape, TapeRow};

const NO_VALUES: &str = "Values and adjoints were not recorded. To see them, run the forward and the backward pass inside \
                         `record_values(|| ..)`, with `Backward::new().retain_graph()`.";
const NO_ADJOINTS: &str = "There are no adjoints. To see them, run the backward pass inside `record_values(|| ..)` too, with \
                           `Backward::new().retain_graph()`.";

/// The graph of a tape: one node for each record, with forward edges from operands. If values were recorded, adjoint edges run in the
/// opposite direction, each with its contribution.
///
/// More than [`MOST_NODES`] records are [collapsed](Graph::collapsed) by line.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{EdgeKind, graph};
///
/// let x = Tensor::from(3.0).require_grad();
/// let y = record_values(|| {
///     let y = x.square() + 1.0;
///     y.backward_with(Backward::new().retain_graph());
///     y
/// });
/// let graph = graph(&Tape::of(&y));
/// let adjoint = graph.edges().iter().find(|edge| edge.kind == EdgeKind::Adjoint && edge.to == 0).unwrap();
/// assert_eq!(adjoint.contribution.as_ref().unwrap().to_string(), "6");
/// ```
pub fn graph(tape: &Tape) -> Graph {
    let rows = tape.rows();
    let places: HashMap<&str, usize> = rows.iter().enumerate().map(|(place, row)| (row.name.as_str(), place)).collect();
    // A graph that will be collapsed needs no numbers.
    let summary = |tensor: &Option<Tensor>| tensor.as_ref().filter(|_| rows.len() <= MOST_NODES).map(Summary::of);
    let mut graph = Graph { title: format!("Tape of {}", counted(rows.len(), "record")), ..Graph::default() };
    for (place, row) in rows.iter().enumerate() {
        let operand = |number: usize| row.operands.get(number).and_then(|name| places.get(name.as_str()).copied());
        let saved: Vec<Saved> = row
            .saved
            .iter()
            .map(|(what, tensor)| Saved {
                node: kept(what, place, &operand),
                what: what.clone(),
                value: summary(tensor),
                bytes: tensor.as_ref().map_or(0, |tensor| tensor.spec().bytes()),
            })
            .collect();
        for number in 0..row.operands.len() {
            let Some(from) = operand(number) else { continue };
            let is_saved = saved.iter().any(|saved| saved.what == format!("operand {number}"));
            graph.edges.push(Edge { saved: is_saved, ..Edge::new(from, place, EdgeKind::Forward, number) });
            let Some(contribution) = row.contributions.get(number).filter(|contribution| contribution.is_some()) else {
                continue;
            };
            let adjoint = Edge::new(place, from, EdgeKind::Adjoint, number);
            graph.edges.push(Edge { contribution: summary(contribution), ..adjoint });
        }
        let value = summary(&row.value);
        graph.nodes.push(Node {
            operation: row.operation.clone(),
            rule: row.rule.clone(),
            shape: value.as_ref().map_or_else(String::new, |value| value.shape.clone()),
            value,
            adjoint: summary(&row.adjoint),
            saved_bytes: saved.iter().map(|saved| saved.bytes).sum(),
            saved,
            line: Some(row.line),
            reverse: Some(rows.len() - 1 - place),
            ..Node::new(&row.name, kind(row), label(row))
        });
    }
    // A record with several results has no value of its own.
    let results = rows.iter().filter(|row| kind(row) == NodeKind::Output);
    let with_several: HashSet<&String> = results.flat_map(|row| &row.operands).collect();
    if rows.iter().any(|row| row.value.is_none() && !with_several.contains(&row.name)) {
        graph.notes.push(NO_VALUES.to_string());
    } else if !rows.is_empty() && rows.iter().all(|row| row.adjoint.is_none()) {
        graph.notes.push(NO_ADJOINTS.to_string());
    }
    graph.within_limit()
}

impl Graph {
    /// Gives names to leaves of the tape that the graph is made of, such as those of a network's parameters: `v1` becomes `v1 = 0.weight`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let (x, w) = (Tensor::from([1.0, 2.0]), Tensor::from([0.5, -0.5]).require_grad());
    /// let tape = Tape::of(&(x * &w));
    /// assert_eq!(graph(&tape).named(&tape, [("w", &w)]).nodes()[0].label, "v1 = w");
    /// let layers = [w];
    /// assert_eq!(graph(&tape).named(&tape, layers.named_leaves()).nodes()[0].label, "v1 = 0");
    /// ```
    pub fn named<'t, N: fmt::Display>(
        mut self,
        tape: &Tape,
        names: impl IntoIterator<Item = (N, &'t Tensor)>,
    ) -> Graph {
        let leaves: Vec<&TapeRow> = tape.rows().iter().filter(|row| kind(row) == NodeKind::Leaf).collect();
        let mut nodes: HashMap<String, usize> = HashMap::new();
        for (place, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Leaf) {
            nodes.insert(node.id.clone(), place);
        }
        for (name, tensor) in names {
            let row = leaves.iter().find(|row| row.is_of(tensor));
            if let Some(place) = row.and_then(|row| nodes.remove(&row.name)) {
                self.nodes[place].label += &format!(" = {name}");
            }
        }
        self
    }
}

fn kind(row: &TapeRow) -> NodeKind {
    match row.operation.as_str() {
        "leaf" if row.operands.is_empty() => NodeKind::Leaf,
        // No operation has a space in its name.
        name if name.starts_with("output ") => NodeKind::Output,
        _ => NodeKind::Operation,
    }
}

/// The formula of a record. Operands without a gradient have no name; numbers among them are shown if values were recorded.
fn label(row: &TapeRow) -> String {
    let constant = |place: usize| {
        let value = row.inputs.get(place).filter(|input| input.shape().is_empty()).map(Summary::of);
        value.filter(Summary::is_number).map_or_else(|| "const".to_string(), |value| value.to_string())
    };
    let operand = |(place, name): (usize, &String)| if name == "-" { constant(place) } else { name.clone() };
    let operands: Vec<String> = row.operands.iter().enumerate().map(operand).collect();
    match kind(row) {
        NodeKind::Leaf => row.name.clone(),
        NodeKind::Output => format!("{} = {} of {}", row.name, row.operation, operands.join(", ")),
        _ => formula(&row.name, &row.operation, &operands),
    }
}

/// The node whose value, or whose shape, is saved.
fn kept(what: &str, own: usize, operand: &dyn Fn(usize) -> Option<usize>) -> Option<usize> {
    let (what, number) = what.rsplit_once(' ')?;
    match what {
        "operand" | "shape of operand" => operand(number.parse().ok()?),
        "output" if number == "0" => Some(own),
        _ => None,
    }
}
