//! A record of the reverse graph: one allocation for an operation, what it saved, and its edges.
//!
//! Identifiers come from one counter, so creation order is a topological order and the reverse sweep is a loop. Edges own
//! the records they lead to; a record never owns its gradient slot nor its outputs, so there are no cycles.

use crate::Tensor;
use crate::autograd::{GradientSlot, Hook};
use crate::location::Line;
use crate::primitive::{Attrs, Kept, Mask, Primitive, Rule, Saves, Spec};
use crate::tensor::Value;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A fresh identifier, larger than all before.
fn next_id() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Where differentiation ends: a tensor that requires a gradient, or the input of a transform.
    Leaf,
    /// A call.
    Operation,
    /// One of several outputs of the call that is its only edge.
    Output(usize),
}

/// The tag packs what never changes with the two bits that do: `id << 18 | decorated << 17 | consumed << 16 | role`.
const CONSUMED: u64 = 1 << 16;
const DECORATED: u64 = 1 << 17;
const ID_SHIFT: u32 = 18;

pub(crate) struct Node {
    tag: AtomicU64,
    call: Call,
    pub line: Line,
    edges: Edges,
    state: Mutex<State>,
}

/// Most calls have no attributes; the others share one allocation with their primitive.
enum Call {
    Plain(&'static dyn Primitive),
    With(Option<Arc<(&'static dyn Primitive, Attrs)>>),
}

/// Leaves and outputs of several call nothing.
const NO_CALL: Call = Call::With(None);

/// `None` where the operand needs no gradient.
enum Edges {
    Two([Option<Arc<Node>>; 2]),
    Many(Box<[Option<Arc<Node>>]>),
}

struct State {
    saved: SavedList,
    extras: Option<Box<Extras>>,
}

enum SavedList {
    Two([Saved; 2]),
    Many(Box<[Saved]>),
}

/// One thing kept from the forward pass.
#[derive(Clone)]
pub(crate) enum Saved {
    /// Nothing was asked for, or it has been used up.
    Nothing,
    /// The numbers, or a tensor of a lower level.
    Held(Value),
    /// A tensor with a place in the imperative graph, saved by a level above it.
    Linked(Box<Tensor>),
    /// Shape and dtype only.
    Shape(Box<Spec>),
}

/// What few records have.
#[derive(Default)]
pub(crate) struct Extras {
    pub hooks: Vec<Hook>,
    pub slot: Weak<GradientSlot>,
    /// While values are recorded: the output, its adjoint, and what each operand received.
    pub value: Option<Tensor>,
    pub adjoint: Option<Tensor>,
    pub contributions: Vec<Option<Tensor>>,
    pub records_values: bool,
    /// The records of a call's several outputs, so that a saved output is re-attached where the user's handle is.
    pub outputs: Vec<Weak<Node>>,
}

impl Saved {
    fn keep(tensor: &Tensor) -> Saved {
        match tensor.link {
            None => Saved::Held(tensor.value.clone()),
            Some(_) => Saved::Linked(Box::new(Tensor { slot: None, ..tensor.clone() })),
        }
    }

    /// Only the numbers: level 0 finds the graph again through its edges.
    #[inline]
    fn keep_value(tensor: &Tensor) -> Saved {
        Saved::Held(tensor.value.clone())
    }

    /// `None` if another sweep used it up meanwhile.
    #[inline]
    fn restore(self) -> Option<Kept> {
        match self {
            Saved::Held(value) => Some(Kept::Value(Tensor::from(value))),
            Saved::Linked(tensor) => Some(Kept::Value(*tensor)),
            Saved::Shape(spec) => Some(Kept::Shape(spec)),
            Saved::Nothing => None,
        }
    }
}

impl Node {
    #[inline]
    fn build(role: Role, call: Call, line: Line, edges: Edges, saved: SavedList) -> Arc<Node> {
        let role = match role {
            Role::Operation => 0,
            Role::Leaf => 1,
            Role::Output(position) => 2 + position as u64,
        };
        let tag = AtomicU64::new(next_id() << ID_SHIFT | role);
        Arc::new(Node { tag, call, line, edges, state: Mutex::new(State { saved, extras: None }) })
    }

    /// The end of differentiation.
    pub fn leaf(line: Line) -> Arc<Node> {
        Node::build(
            Role::Leaf,
            NO_CALL,
            line,
            Edges::Two([None, None]),
            SavedList::Two([Saved::Nothing, Saved::Nothing]),
        )
    }

    /// Output `position` of the call `of`.
    fn output(of: &Arc<Node>, position: usize) -> Arc<Node> {
        Node::build(
            Role::Output(position),
            NO_CALL,
            of.line,
            Edges::Two([Some(of.clone()), None]),
            SavedList::Two([Saved::Nothing, Saved::Nothing]),
        )
    }

    /// A call. `imperative` calls save bare numbers.
    #[inline]
    pub fn operation<'e>(
        op: &'static dyn Primitive,
        attrs: Attrs,
        line: Line,
        edge: impl Fn(usize) -> Option<&'e Arc<Node>>,
        operands: &[&Tensor],
        outputs: &[Tensor],
        imperative: bool,
    ) -> Arc<Node> {
        let wanted = Mask::of(operands.len(), |position| edge(position).is_some());
        let saves = op.saves(&attrs, wanted);
        let saved = match imperative {
            true => save(op, &attrs, saves, operands, outputs, Saved::keep_value),
            false => save(op, &attrs, saves, operands, outputs, Saved::keep),
        };
        let edges = match operands.len() {
            0..=2 => Edges::Two([edge_at(&edge, operands, 0), edge_at(&edge, operands, 1)]),
            _ => Edges::Many((0..operands.len()).map(|position| edge(position).cloned()).collect()),
        };
        let call = match attrs.is_empty() {
            true => Call::Plain(op),
            false => Call::With(Some(Arc::new((op, attrs)))),
        };
        Node::build(Role::Operation, call, line, edges, saved)
    }

    #[inline]
    pub fn id(&self) -> u64 {
        self.tag.load(Ordering::Relaxed) >> ID_SHIFT
    }

    #[inline]
    pub fn role(&self) -> Role {
        match self.tag.load(Ordering::Relaxed) & (CONSUMED - 1) {
            0 => Role::Operation,
            1 => Role::Leaf,
            position => Role::Output(position as usize - 2),
        }
    }

    /// Reserves the record for one sweep that uses it up; false if another did already.
    pub fn consume(&self) -> bool {
        self.tag.fetch_or(CONSUMED, Ordering::Relaxed) & CONSUMED == 0
    }

    pub fn is_consumed(&self) -> bool {
        self.tag.load(Ordering::Relaxed) & CONSUMED != 0
    }

    /// Gives back a reservation that was not used.
    pub fn release(&self) {
        self.tag.fetch_and(!CONSUMED, Ordering::Relaxed);
    }

    #[inline]
    pub fn op(&self) -> &'static dyn Primitive {
        match &self.call {
            Call::Plain(op) => *op,
            Call::With(Some(call)) => call.0,
            Call::With(None) => unreachable!("only a call has an operation"),
        }
    }

    #[inline]
    pub fn attrs(&self) -> &Attrs {
        static NONE: Attrs = Attrs::new();
        match &self.call {
            Call::With(Some(call)) => &call.1,
            _ => &NONE,
        }
    }

    #[inline]
    pub fn edges(&self) -> &[Option<Arc<Node>>] {
        match &self.edges {
            Edges::Two(edges) => edges,
            Edges::Many(edges) => edges,
        }
    }

    /// Which operands have an edge: what was wanted when the call was recorded.
    #[inline]
    pub fn wanted(&self) -> Mask {
        let edges = self.edges();
        Mask::of(edges.len(), |position| edges[position].is_some())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rule's view of the call, for the gradients `needed`; the saved values are moved out of a record that is used
    /// up. `attach` gives an operand or output its place in the graph again. `None` if another sweep used the record up.
    #[inline]
    pub fn rule(&self, needed: Mask, keep: bool, attach: Option<&Arc<Node>>) -> Option<Rule<'_>> {
        let (op, attrs) = (self.op(), self.attrs());
        let saves = op.saves(attrs, self.wanted());
        let mut kept: SmallVec<[Kept; 2]> = SmallVec::new();
        {
            let mut state = self.state();
            let list = match &mut state.saved {
                SavedList::Two(list) => &mut list[..],
                SavedList::Many(list) => &mut list[..],
            };
            for saved in &mut list[..saves.count()] {
                let saved = if keep { saved.clone() } else { std::mem::replace(saved, Saved::Nothing) };
                kept.push(saved.restore()?);
            }
        }
        if let Some(this) = attach {
            attach_to_graph(this, saves, &mut kept);
        }
        Some(Rule::from_parts(op.name(), attrs, needed, saves, kept))
    }

    /// Reads or changes what few records have, if this one has any.
    pub fn extras<R>(&self, f: impl FnOnce(&mut Extras) -> R) -> Option<R> {
        self.state().extras.as_mut().map(|extras| f(extras))
    }

    /// Reads or changes what few records have.
    pub fn extras_or_new<R>(&self, f: impl FnOnce(&mut Extras) -> R) -> R {
        self.tag.fetch_or(DECORATED, Ordering::Relaxed);
        f(self.state().extras.get_or_insert_default())
    }

    /// Whether [`extras`](Node::extras) finds anything, without a lock.
    #[inline]
    pub fn is_decorated(&self) -> bool {
        self.tag.load(Ordering::Relaxed) & DECORATED != 0
    }

    /// The saved values in words, for tape listings: ("operand 0", value).
    pub fn saved_values(&self) -> Vec<(String, Option<Tensor>)> {
        if self.role() != Role::Operation || self.is_consumed() {
            return Vec::new();
        }
        let saves = self.op().saves(self.attrs(), self.wanted());
        let state = self.state();
        let list = match &state.saved {
            SavedList::Two(list) => &list[..],
            SavedList::Many(list) => &list[..],
        };
        let names = (saves.operands.iter().map(|i| format!("operand {i}")))
            .chain(saves.shapes.iter().map(|i| format!("shape of operand {i}")))
            .chain(saves.outputs.iter().map(|i| format!("output {i}")))
            .chain(saves.residual.then(|| "residual".to_string()));
        let value = |saved: &Saved| match saved {
            Saved::Held(value) => Some(Tensor::from(value.clone())),
            Saved::Linked(tensor) => Some((**tensor).clone()),
            Saved::Shape(_) | Saved::Nothing => None,
        };
        names.zip(list.iter().map(value)).collect()
    }

    fn take_edges(&mut self) -> Edges {
        std::mem::replace(&mut self.edges, Edges::Two([None, None]))
    }
}

fn edge_at<'e>(
    edge: &impl Fn(usize) -> Option<&'e Arc<Node>>,
    operands: &[&Tensor],
    position: usize,
) -> Option<Arc<Node>> {
    if position < operands.len() { edge(position).cloned() } else { None }
}

#[inline]
fn save(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    saves: Saves,
    operands: &[&Tensor],
    outputs: &[Tensor],
    keep: impl Fn(&Tensor) -> Saved,
) -> SavedList {
    let residual = saves.residual.then(|| {
        let outputs: SmallVec<[&Tensor; 2]> = outputs.iter().collect();
        // A residual carries no derivative: it is computed from bare numbers.
        let operands: SmallVec<[Tensor; 2]> = operands.iter().map(|operand| operand.plain()).collect();
        let operands: SmallVec<[&Tensor; 2]> = operands.iter().collect();
        Saved::Held(op.residual(attrs, &operands, &outputs).value)
    });
    let mut list = SavedBuilder::new(saves.count());
    for position in saves.operands.iter() {
        list.push(keep(operands[position]));
    }
    for position in saves.shapes.iter() {
        list.push(Saved::Shape(Box::new(operands[position].spec())));
    }
    for position in saves.outputs.iter() {
        list.push(keep(&outputs[position]));
    }
    if let Some(residual) = residual {
        list.push(residual);
    }
    list.finish()
}

/// Up to two saved values stand in the record itself.
struct SavedBuilder {
    two: [Saved; 2],
    many: Vec<Saved>,
    count: usize,
    place: usize,
}

impl SavedBuilder {
    #[inline]
    fn new(count: usize) -> SavedBuilder {
        SavedBuilder { two: [Saved::Nothing, Saved::Nothing], many: Vec::new(), count, place: 0 }
    }

    #[inline]
    fn push(&mut self, saved: Saved) {
        if self.count <= 2 {
            self.two[self.place] = saved;
            self.place += 1;
        } else {
            self.many.push(saved);
        }
    }

    #[inline]
    fn finish(self) -> SavedList {
        if self.count <= 2 { SavedList::Two(self.two) } else { SavedList::Many(self.many.into_boxed_slice()) }
    }
}

/// Saved operands continue along the record's edges, saved outputs at the record itself.
fn attach_to_graph(this: &Arc<Node>, saves: Saves, kept: &mut SmallVec<[Kept; 2]>) {
    let edges = this.edges();
    for (place, position) in saves.operands.iter().enumerate() {
        if let Kept::Value(tensor) = &mut kept[place] {
            tensor.link = edges[position].clone();
        }
    }
    let before = saves.operands.count() + saves.shapes.count();
    for (place, position) in saves.outputs.iter().enumerate() {
        if let Kept::Value(tensor) = &mut kept[before + place]
            && tensor.dtype().is_float()
        {
            tensor.link = Some(this.output_record(position));
        }
    }
}

impl Node {
    /// The record that stands for output `position` of this call.
    pub fn output_record(self: &Arc<Node>, position: usize) -> Arc<Node> {
        if !self.has_several_outputs() {
            return self.clone();
        }
        self.extras_or_new(|extras| {
            if extras.outputs.len() <= position {
                extras.outputs.resize_with(position + 1, Weak::new);
            }
            extras.outputs[position].upgrade().unwrap_or_else(|| {
                let output = Node::output(self, position);
                extras.outputs[position] = Arc::downgrade(&output);
                output
            })
        })
    }

    /// Calls with several differentiable outputs have one record for each of them above their own.
    pub fn has_several_outputs(&self) -> bool {
        self.role() == Role::Operation && self.op().outputs(self.attrs()) > 1
    }
}

/// Long chains are taken apart in a loop: recursion would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut stack: SmallVec<[Arc<Node>; 4]> = SmallVec::new();
        push_edges(self.take_edges(), &mut stack);
        while let Some(node) = stack.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                push_edges(node.take_edges(), &mut stack);
            }
        }
    }
}

fn push_edges(edges: Edges, stack: &mut SmallVec<[Arc<Node>; 4]>) {
    match edges {
        Edges::Two([a, b]) => {
            // `extend` with an option costs more than the two tests.
            if let Some(a) = a {
                stack.push(a);
            }
            if let Some(b) = b {
                stack.push(b);
            }
        }
        Edges::Many(edges) => stack.extend(edges.into_iter().flatten()),
    }
}
