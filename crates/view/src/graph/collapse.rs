//! Several nodes in one: those of a line, of a file or of a group.

use super::formula::name;
use super::model::{Edge, EdgeKind, Graph, GroupKind, Node, NodeKind};
use super::numbers::counted;
use std::collections::{HashMap, HashSet};
use wengert_engine::primitive::Cost;

/// Graphs with more nodes are collapsed: by group if that suffices, else by line, else by file.
///
/// ```
/// assert_eq!(wengert_view::MOST_NODES, 10_000);
/// ```
pub const MOST_NODES: usize = 10_000;

/// The number of different operations that a collapsed node lists.
const MOST_LISTED: usize = 4;

/// Which nodes become one.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{Collapse, graph};
///
/// let x = Tensor::from(2.0).require_grad();
/// let y = (0..100).fold(x, |x, _| x.sin().cos());
/// assert_eq!(graph(&Tape::of(&y)).collapsed(Collapse::Line).nodes().len(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collapse {
    /// Those of the same source line; those without a line by kind.
    Line,
    /// Those of the same source file; those without one by kind.
    File,
    /// Those of the same group.
    Group,
}

/// What nodes that become one have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Line(&'static str, u32),
    File(&'static str),
    Group(usize),
    Kind(NodeKind),
    /// It stays what it is.
    Own(usize),
}

impl Graph {
    /// The graph with several nodes in one, and a note that says so. An edge between collapsed nodes stands for all edges between their
    /// members. It may lead back to a node that comes first, as the lines of a loop do.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::{Collapse, NodeKind, graph};
    ///
    /// let x = Tensor::from(2.0).require_grad();
    /// let y = (0..100).fold(x, |x, _| x.sin().cos());
    /// let graph = graph(&Tape::of(&y)).collapsed(Collapse::Line);
    /// let line = &graph.nodes()[1];
    /// assert_eq!((line.kind, line.members), (NodeKind::Collapsed, 200));
    /// assert_eq!(line.operation, "100 cos, 100 sin");
    /// ```
    pub fn collapsed(mut self, by: Collapse) -> Graph {
        let keys = self.keys(by);
        let mut places: HashMap<Key, usize> = HashMap::new();
        let mut members: Vec<(Key, Vec<usize>)> = Vec::new();
        let mut place_of = Vec::with_capacity(self.nodes.len());
        for (node, key) in keys.into_iter().enumerate() {
            let place = *places.entry(key).or_insert(members.len());
            if place == members.len() {
                members.push((key, Vec::new()));
            }
            members[place].1.push(node);
            place_of.push(place);
        }
        let before: usize = self.nodes.iter().map(|node| node.members).sum();
        let is_alone = |place: usize| members[place].1.len() == 1;
        let edges = joined(&self.edges, &place_of, is_alone);
        let mut nodes: Vec<Node> =
            members.iter().map(|(key, nodes)| Node { group: None, ..self.together(*key, nodes) }).collect();
        for saved in nodes.iter_mut().flat_map(|node| &mut node.saved) {
            saved.node = saved.node.map(|node| place_of[node]);
        }
        let what = match by {
            Collapse::Line => "by source line",
            Collapse::File => "by source file",
            Collapse::Group => "by group",
        };
        self.notes.push(format!("Collapsed {what}: {} for {before}.", counted(nodes.len(), "node")));
        Graph { nodes, edges, groups: Vec::new(), ..self }
    }

    /// What each node has in common with those that it becomes one with.
    fn keys(&self, by: Collapse) -> Vec<Key> {
        let key = |(place, node): (usize, &Node)| match (by, node.line, node.group) {
            (Collapse::Group, _, Some(group)) => Key::Group(group),
            (Collapse::Group, ..) => Key::Own(place),
            (_, None, _) => Key::Kind(node.kind),
            (Collapse::Line, Some(line), _) => Key::Line(line.file(), line.line()),
            (Collapse::File, Some(line), _) => Key::File(line.file()),
        };
        self.nodes.iter().enumerate().map(key).collect()
    }

    /// One node for several.
    fn together(&self, key: Key, members: &[usize]) -> Node {
        if let [only] = members {
            return self.nodes[*only].clone();
        }
        let head = match key {
            Key::Group(group) => self.groups[group].head.filter(|_| self.groups[group].kind == GroupKind::Kernel),
            _ => None,
        };
        let all = || members.iter().map(|member| &self.nodes[*member]);
        let label = match key {
            Key::Line(file, line) => format!("{}:{line}", short_path(file)),
            Key::File(file) => short_path(file).to_string(),
            Key::Group(group) => self.groups[group].label.clone(),
            Key::Kind(NodeKind::Leaf) => format!("{} without a line", counted(members.len(), "input")),
            Key::Kind(kind) => format!("{} without a line", counted(members.len(), kind.name())),
            Key::Own(place) => self.nodes[place].label.clone(),
        };
        let node = match head {
            Some(head) => self.nodes[head].clone(),
            None => {
                let id = all().next().map_or("", |node| &node.id);
                Node { operation: listed(all()), ..Node::new(id, NodeKind::Collapsed, label) }
            }
        };
        let cost = all()
            .filter_map(|node| node.cost)
            .reduce(|sum, cost| Cost { flops: sum.flops + cost.flops, bytes: sum.bytes + cost.bytes });
        Node {
            saved_bytes: all().map(|node| node.saved_bytes).sum(),
            line: all().find_map(|node| node.line),
            from_rule: all().all(|node| node.from_rule),
            reverse: all().filter_map(|node| node.reverse).min(),
            cost,
            members: all().map(|node| node.members).sum(),
            ..node
        }
    }

    /// The graph, collapsed if it has more than [`MOST_NODES`].
    pub(super) fn within_limit(self) -> Graph {
        if self.nodes.len() <= MOST_NODES {
            return self;
        }
        let count = |by: Collapse| self.keys(by).into_iter().collect::<HashSet<Key>>().len();
        let by = [Collapse::Group, Collapse::Line].into_iter().find(|by| count(*by) <= MOST_NODES);
        self.collapsed(by.unwrap_or(Collapse::File))
    }
}

/// The name of a file with its folder.
fn short_path(file: &str) -> &str {
    let start = file.rmatch_indices(['/', '\\']).nth(1).map_or(0, |(place, _)| place + 1);
    &file[start..]
}

/// The edges between collapsed nodes, each pair once for every kind; edges inside of a node are left out.
fn joined(edges: &[Edge], place_of: &[usize], is_alone: impl Fn(usize) -> bool) -> Vec<Edge> {
    let mut places: HashMap<(usize, usize, EdgeKind), usize> = HashMap::new();
    let mut joined: Vec<Edge> = Vec::new();
    for edge in edges {
        let (from, to) = (place_of[edge.from], place_of[edge.to]);
        if from == to {
            continue;
        }
        if is_alone(from) && is_alone(to) {
            joined.push(Edge { from, to, ..edge.clone() });
            continue;
        }
        let place = *places.entry((from, to, edge.kind)).or_insert(joined.len());
        match joined.get_mut(place) {
            Some(known) => {
                known.count += edge.count;
                known.saved |= edge.saved;
                known.contribution = None;
                known.name.clear();
            }
            None => joined.push(Edge { from, to, operand: 0, ..edge.clone() }),
        }
    }
    joined
}

/// `3 mul, 2 add, sin`: the most frequent operations first.
fn listed<'n>(nodes: impl Iterator<Item = &'n Node>) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for node in nodes {
        let operation = if node.operation.is_empty() { node.kind.name() } else { name(&node.operation) };
        *counts.entry(operation).or_default() += node.members;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|&(operation, count)| (std::cmp::Reverse(count), operation));
    let text = |&(operation, count): &(&str, usize)| match count {
        1 => operation.to_string(),
        _ => format!("{count} {operation}"),
    };
    let mut texts: Vec<String> = counts.iter().take(MOST_LISTED).map(text).collect();
    if counts.len() > MOST_LISTED {
        texts.push(format!("{} more", counts.len() - MOST_LISTED));
    }
    texts.join(", ")
}
