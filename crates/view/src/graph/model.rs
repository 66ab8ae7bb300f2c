//! What a graph consists of.

use super::summary::Summary;
use wengert_engine::Line;
use wengert_engine::primitive::Cost;

/// A graph of a tape, a program or a plan: nodes with edges between them, groups of nodes, and notes for the reader.
///
/// Edges refer to nodes, and nodes to groups, by their positions. Nodes stand in the order in which they are computed. Names and lines come
/// from the user's code and are stored as they are; every picture escapes them.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{NodeKind, program};
///
/// let graph = program(&compile(|x: &Tensor| x.sin() * 2.0).program(&Tensor::from(1.0)));
/// let kinds: Vec<NodeKind> = graph.nodes().iter().map(|node| node.kind).collect();
/// use NodeKind::{Constant, Leaf, Operation, Output};
/// assert_eq!(kinds, [Leaf, Constant, Operation, Operation, Output]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    pub(crate) subject: Subject,
    pub(super) title: String,
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    pub(super) groups: Vec<Group>,
    pub(super) notes: Vec<String>,
    pub(super) coloured: bool,
}

/// What a graph shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    #[default]
    Tape,
    Program,
    Plan,
}

/// A value that is given or computed, or several of them.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::graph;
///
/// let x = Tensor::from(2.0).require_grad();
/// let graph = graph(&Tape::of(&x.sin()));
/// let sin = &graph.nodes()[1];
/// assert_eq!((sin.id.as_str(), sin.operation.as_str(), sin.rule.as_str()), ("v2", "sin", "dx = cos(x) dy"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name, which no other node has: `v3` on a tape, a variable of a program, `kernel 0` of a plan.
    pub id: String,
    /// What it is.
    pub kind: NodeKind,
    /// What it is, in a few words: `v3 = v1 · v2`.
    pub label: String,
    /// The operation with its attributes; what a kernel does; the operations of a collapsed node.
    pub operation: String,
    /// The derivative rule, if there is one.
    pub rule: String,
    /// The dtypes and shapes of its results, as far as they are known.
    pub shape: String,
    /// Its value.
    pub value: Option<Summary>,
    /// Its adjoint: the sum of the contributions of all adjoint edges that end here.
    pub adjoint: Option<Summary>,
    /// The values that it keeps for the backward pass.
    pub saved: Vec<Saved>,
    /// The bytes of these values, as far as they are known.
    pub saved_bytes: usize,
    /// The user's line.
    pub line: Option<Line>,
    /// Whether a derivative rule or a batching rule made it.
    pub from_rule: bool,
    /// Its position in the backward pass.
    pub reverse: Option<usize>,
    /// The work of one call.
    pub cost: Option<Cost>,
    /// The measured time of one call.
    pub milliseconds: Option<f64>,
    /// The group that it belongs to.
    pub group: Option<usize>,
    /// The number of nodes that it stands for: 1 unless it is collapsed.
    pub members: usize,
}

impl Node {
    /// A node about which nothing else is known.
    pub(super) fn new(id: impl Into<String>, kind: NodeKind, label: impl Into<String>) -> Node {
        Node {
            id: id.into(),
            kind,
            label: label.into(),
            operation: String::new(),
            rule: String::new(),
            shape: String::new(),
            value: None,
            adjoint: None,
            saved: Vec::new(),
            saved_bytes: 0,
            line: None,
            from_rule: false,
            reverse: None,
            cost: None,
            milliseconds: None,
            group: None,
            members: 1,
        }
    }
}

/// What a node is.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{NodeKind, graph};
///
/// let x = Tensor::from(2.0).require_grad();
/// assert_eq!(graph(&Tape::of(&x)).nodes()[0].kind, NodeKind::Leaf);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A leaf of a tape, or an input of a program.
    Leaf,
    /// A tensor that a program captured.
    Constant,
    /// A call of an operation.
    Operation,
    /// One of several results of an operation on a tape, or a result of a program.
    Output,
    /// A kernel of a plan.
    Kernel,
    /// Several nodes in one.
    Collapsed,
}

impl NodeKind {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            NodeKind::Leaf => "leaf",
            NodeKind::Constant => "constant",
            NodeKind::Operation => "operation",
            NodeKind::Output => "output",
            NodeKind::Kernel => "kernel",
            NodeKind::Collapsed => "collapsed",
        }
    }
}

/// A value that a node keeps for the backward pass.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::graph;
///
/// let x = Tensor::from([2.0, 3.0]).require_grad();
/// let graph = graph(&Tape::of(&x.sin()));
/// let sin = &graph.nodes()[1];
/// assert_eq!((sin.saved[0].what.as_str(), sin.saved[0].node, sin.saved_bytes), ("operand 0", Some(0), 16));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Which value of the call: `operand 0`, `shape of operand 1`, `output 0` or `residual`.
    pub what: String,
    /// The node whose value it is.
    pub node: Option<usize>,
    /// The value, while it is held.
    pub value: Option<Summary>,
    /// The bytes of its elements.
    pub bytes: usize,
}

/// An edge between two nodes.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{EdgeKind, graph};
///
/// let x = Tensor::from(2.0).require_grad();
/// let graph = graph(&Tape::of(&(&x * &x)));
/// let operands: Vec<usize> = graph.edges().iter().map(|edge| edge.operand).collect();
/// assert_eq!(operands, [0, 1]);
/// assert!(graph.edges().iter().all(|edge| (edge.from, edge.to, edge.kind) == (0, 1, EdgeKind::Forward)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node where it begins.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    /// What flows along it.
    pub kind: EdgeKind,
    /// The position among the operands of the call. An adjoint edge has that of the forward edge beside it.
    pub operand: usize,
    /// Which result is read, if there are several.
    pub name: String,
    /// Whether the node at the end of a forward edge keeps the value for the backward pass.
    pub saved: bool,
    /// What an adjoint edge adds to the adjoint of the node where it ends.
    pub contribution: Option<Summary>,
    /// The number of edges that it stands for.
    pub count: usize,
}

impl Edge {
    pub(super) fn new(from: usize, to: usize, kind: EdgeKind, operand: usize) -> Edge {
        Edge { from, to, kind, operand, name: String::new(), saved: false, contribution: None, count: 1 }
    }
}

/// What flows along an edge.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{EdgeKind, graph};
///
/// let x = Tensor::from(2.0).require_grad();
/// assert_eq!(graph(&Tape::of(&x.sin())).edges()[0].kind, EdgeKind::Forward);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// A value, to a node that reads it.
    Forward,
    /// A contribution to an adjoint, from a node to one of its operands.
    Adjoint,
    /// From a loop or a branch to the inputs of the program that it runs.
    Body,
}

impl EdgeKind {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            EdgeKind::Forward => "forward",
            EdgeKind::Adjoint => "adjoint",
            EdgeKind::Body => "body",
        }
    }
}

/// Nodes that belong together.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::plan;
///
/// let graph = plan(&compile(|x: &Tensor| x.exp().tanh()).plan(&Tensor::from([1.0, 2.0])));
/// assert_eq!(graph.groups()[0].label, "kernel 0: loop over 2 elements");
/// assert_eq!(graph.nodes().iter().filter(|node| node.group == Some(0)).count(), 3, "the kernel and two equations");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What they are together.
    pub label: String,
    /// Why they belong together.
    pub kind: GroupKind,
    /// The node that stands for all of them: the kernel.
    pub head: Option<usize>,
}

/// Why nodes belong together.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{GroupKind, plan};
///
/// let graph = plan(&compile(|x: &Tensor| x.exp().tanh()).plan(&Tensor::from([1.0, 2.0])));
/// assert_eq!(graph.groups()[0].kind, GroupKind::Kernel);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// One kernel computes them.
    Kernel,
    /// They are the program that a loop or a branch runs.
    Body,
}

impl GroupKind {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            GroupKind::Kernel => "kernel",
            GroupKind::Body => "body",
        }
    }
}

impl Graph {
    /// The title.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// assert_eq!(graph(&Tape::of(&Tensor::from(2.0).require_grad().sin())).title(), "Tape of 2 records");
    /// ```
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The nodes, in the order in which they are computed.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let graph = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin()));
    /// assert_eq!(graph.nodes()[1].label, "v2 = sin(v1)");
    /// ```
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The edges.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let graph = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin()));
    /// assert_eq!((graph.edges()[0].from, graph.edges()[0].to), (0, 1));
    /// ```
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The groups.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::plan;
    ///
    /// let graph = plan(&compile(|x: &Tensor| x.exp().tanh()).plan(&Tensor::from([1.0, 2.0])));
    /// assert_eq!(graph.groups().len(), 1);
    /// ```
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// What the reader of the picture should know, such as why something is missing.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let graph = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin()));
    /// assert!(graph.notes()[0].contains("record_values"));
    /// ```
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of edges along which a node's value is read.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let x = Tensor::from(2.0).require_grad();
    /// assert_eq!(graph(&Tape::of(&(&x * &x))).fan_out(), [2, 0]);
    /// ```
    pub fn fan_out(&self) -> Vec<usize> {
        let mut counts = vec![0; self.nodes.len()];
        let forward = self.edges.iter().filter(|edge| edge.kind == EdgeKind::Forward);
        forward.for_each(|edge| counts[edge.from] += edge.count);
        counts
    }

    /// Replaces the title.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let graph = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin())).titled("y = sin x");
    /// assert!(graph.svg().contains("y = sin x"));
    /// ```
    pub fn titled(mut self, title: impl Into<String>) -> Graph {
        self.title = title.into();
        self
    }

    /// Draws [`terminal`](Graph::terminal) in ANSI colours, or not, as by default. An SVG is always coloured.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert_view::graph;
    ///
    /// let graph = graph(&Tape::of(&Tensor::from(2.0).require_grad().sin()));
    /// assert!(!graph.terminal(80).contains('\x1b'));
    /// assert!(graph.coloured(true).terminal(80).contains('\x1b'));
    /// ```
    pub fn coloured(mut self, coloured: bool) -> Graph {
        self.coloured = coloured;
        self
    }
}
