//! A parsed expression.

use super::fault::Span;
use super::functions::Function;
use std::ops::Range;
use wengert::Line;

/// A node by its position in the list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Id(pub usize);

/// What a node computes from earlier ones.
pub enum Kind {
    Number(f64),
    /// A variable, by its position among all.
    Variable(usize),
    /// The number that the range at this depth has reached.
    Counter(usize),
    Call(Function, Vec<Id>),
    /// A vector of numbers.
    Vector(Vec<Id>),
    /// Numbers and vectors, one after the other, as one vector.
    Tuple(Vec<Id>),
    /// An element of a vector.
    Element(Id, Id),
    /// A vector of one number for each integer of a range. The nodes of the body follow this node and are evaluated anew for each.
    Each(Each),
}

/// A range and what is computed for each of its integers.
#[derive(Clone)]
pub struct Each {
    /// The depth of the range: how many others are around it.
    pub counter: usize,
    pub first: Id,
    pub last: Id,
    pub is_inclusive: bool,
    pub body: Range<usize>,
    /// The node of the body that is the result.
    pub result: Id,
}

/// A node, and the part of the text that says what it does: an operator, or the name of a function.
pub struct Node {
    pub kind: Kind,
    pub place: Span,
}

/// An expression as a list of nodes, each after its operands.
#[derive(Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
    /// The node that is the value of the expression.
    pub result: Id,
    /// The variables, in the order of the text, and their first place.
    pub variables: Vec<(String, Span)>,
    /// The names that `let` and ranges define.
    pub defined: Vec<String>,
    /// How deeply ranges lie in each other.
    pub counters: usize,
}

impl Tree {
    /// Adds a node.
    pub fn push(&mut self, kind: Kind, place: Span) -> Id {
        self.nodes.push(Node { kind, place });
        Id(self.nodes.len() - 1)
    }

    /// The part of the text that an operation with this source line belongs to.
    pub fn place_of(&self, line: Line) -> Option<Span> {
        self.nodes.iter().map(|node| node.place).find(|place| place.is_at(line))
    }
}
