//! A record of the reverse graph: one allocation for an operation, its saved values and its edges.
//!
//! Identifiers come from one counter, so creation order is a topological order and the reverse sweep is a loop. Edges own the records they
//! lead to. A record owns neither its gradient slot nor its outputs, so there are no cycles.

use crate::autograd::modes;
use crate::autograd::packing::{self, Origin, Purpose};
use crate::location::Line;
use crate::primitive::{Attrs, Held, Kept, Mask, Primitive, Rule, Saved, Saves};
use crate::types::{Call, Edges, Extras, Node, Recipe, Role, SavedList, State};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Identifiers are handed to threads in blocks of this many.
const RUN: u64 = 64;

/// The first identifier that has not been handed to a thread.
static NEXT: AtomicU64 = AtomicU64::new(RUN);

thread_local! {
    /// The next identifier of this thread; a multiple of [`RUN`] when its block is used up.
    static MINE: Cell<u64> = const { Cell::new(0) };
}

/// A fresh identifier, larger than `newest`: a record is younger than the records it leads to, whichever thread made them. A new block lies
/// above all earlier blocks, so the shared counter is touched only once per block.
#[inline]
fn next_id(newest: u64) -> u64 {
    let mut id = MINE.get();
    if id.is_multiple_of(RUN) || id <= newest {
        id = NEXT.fetch_add(RUN, Ordering::Relaxed) + 1;
    }
    MINE.set(id + 1);
    id
}

/// The tag packs the constant part of a record with the bits that change:
/// `id << 21 | exchangeable << 20 | alternative << 18 | decorated << 17 | consumed << 16 | role`.
const CONSUMED: u64 = 1 << 16;
const DECORATED: u64 = 1 << 17;
/// Which alternative to a residual is saved, counted from 1; 0 for none. Changes only while the state is locked.
const ALTERNATIVE: u64 = 3 << ALTERNATIVE_SHIFT;
const ALTERNATIVE_SHIFT: u32 = 18;
/// The residual can be exchanged for the output, if another record saves that.
const EXCHANGEABLE: u64 = 1 << 20;
const ID_SHIFT: u32 = 21;

/// The alternative to a residual that can take its place later.
const OUTPUT: Saves = Saves::NOTHING.output(0);

/// Smaller outputs keep their residual: exchanging it would cost more than it saves.
const EXCHANGED_FROM: usize = 1 << 13;

impl Call {
    #[inline]
    fn new(op: &'static dyn Primitive, attrs: Attrs) -> Call {
        if attrs.is_empty() { Call::Plain(op) } else { Call::With(Some(Arc::new((op, attrs)))) }
    }
}

/// Leaves and the records of single outputs call nothing.
const NO_CALL: Call = Call::With(None);

/// The largest identifier that edges lead to.
#[inline]
fn newest_of(edges: &[Option<Arc<Node>>]) -> u64 {
    edges.iter().flatten().fold(0, |newest, node| newest.max(node.id()))
}

impl Node {
    // Inlined: a call would pass the saved values through memory and stall on them.
    #[inline(always)]
    fn build(role: Role, call: Call, line: Line, edges: Edges, saved: SavedList) -> Arc<Node> {
        let role = match role {
            Role::Operation => 0,
            Role::Leaf => 1,
            Role::Output(position) => 2 + position as u64,
        };
        let newest = match &edges {
            Edges::Two(edges) => newest_of(edges),
            Edges::Many(edges) => newest_of(edges),
        };
        let tag = AtomicU64::new(next_id(newest) << ID_SHIFT | role);
        Arc::new(Node { tag, call, line, edges, state: Mutex::new(State { saved, extras: None }) })
    }

    /// A leaf, where differentiation ends.
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

    /// A call of `level`; those of the imperative tape, level 0, save plain values.
    #[inline]
    pub fn operation<'e>(
        op: &'static dyn Primitive,
        attrs: Attrs,
        line: Line,
        edge: impl Fn(usize) -> Option<&'e Arc<Node>>,
        operands: &[&Tensor],
        outputs: &[Tensor],
        level: u64,
    ) -> Arc<Node> {
        let imperative = level == 0;
        let wanted = Mask::of(operands.len(), |position| edge(position).is_some());
        let mut saves = op.saves(&attrs, wanted);
        let packing = modes::is_packing();
        let marks = if saves.residual && !packing { choose(op, &mut saves, &edge, outputs) } else { 0 };
        if !packing {
            for position in saves.operands.iter() {
                if let Some(producer) = edge(position).filter(|producer| producer.is_exchangeable()) {
                    producer.exchange(if imperative { Saved::keep_value } else { Saved::keep }(operands[position]));
                }
            }
        }
        let mut recipe = None;
        let saved = match (packing, imperative) {
            (false, true) => save(op, &attrs, saves, operands, outputs, |value, _| Saved::keep_value(value)),
            (false, false) => save(op, &attrs, saves, operands, outputs, |value, _| Saved::keep(value)),
            (true, _) => {
                recipe = packing::recipe(level, (op, &attrs, saves), operands, outputs, &edge);
                let keep = |value: &Tensor, origin: Origin| {
                    let maker = if let Origin::Operand(position) = origin { edge(position) } else { None };
                    let slot = match origin {
                        Origin::Operand(_) => maker.and_then(|node| node.slot()),
                        Origin::Output(position) => recipe.as_ref().map(|recipe| recipe.output(position).clone()),
                        Origin::Residual => recipe.as_ref().and_then(|recipe| recipe.residual().cloned()),
                    };
                    packing::save(level, value, &Purpose { call: op.name(), line, origin, maker, slot })
                };
                save(op, &attrs, saves, operands, outputs, keep)
            }
        };
        let edges = match operands.len() {
            0..=2 => Edges::Two([edge_at(&edge, operands, 0), edge_at(&edge, operands, 1)]),
            _ => Edges::Many((0..operands.len()).map(|position| edge(position).cloned()).collect()),
        };
        let node = Node::build(Role::Operation, Call::new(op, attrs), line, edges, saved);
        if marks != 0 {
            node.tag.fetch_or(marks, Ordering::Relaxed);
        }
        if let Some(recipe) = recipe {
            recipe.belongs_to(&node);
            node.state().extras.get_or_insert_default().recipe = Some(recipe);
        }
        node
    }

    /// A call through a shortcut: one or two short operands, imperative, nothing packed. A residual of that size is never exchanged, so the
    /// saved values can be written straight into the record.
    #[inline]
    pub fn short_operation(
        op: &'static dyn Primitive,
        attrs: Attrs,
        line: Line,
        operands: &[&Tensor],
        output: &Tensor,
    ) -> Arc<Node> {
        let edge = |position: usize| operands[position].link.as_ref();
        let saves = op.saves(&attrs, Mask::of(operands.len(), |position| edge(position).is_some()));
        let (x, y) = (saves.operands.has(0), saves.operands.has(1));
        let has_output = !saves.outputs.is_empty();
        if saves.residual || !saves.shapes.is_empty() || (x && y && has_output) {
            return Node::operation(op, attrs, line, edge, operands, std::slice::from_ref(output), 0);
        }
        let (first, last) = (operands[0], operands[operands.len() - 1]);
        let output = || if has_output { Saved::keep_value(output) } else { Saved::Nothing };
        let saved = match (x, y) {
            (true, true) => [Saved::keep_value(first), Saved::keep_value(last)],
            (true, false) => [Saved::keep_value(first), output()],
            (false, true) => [Saved::keep_value(last), output()],
            (false, false) => [output(), Saved::Nothing],
        };
        let edges = [edge(0).cloned(), if operands.len() == 2 { edge(1).cloned() } else { None }];
        Node::build(Role::Operation, Call::new(op, attrs), line, Edges::Two(edges), SavedList::Two(saved))
    }

    /// The values that the call saved. Valid while the state is locked.
    #[inline]
    fn saves(&self) -> Saves {
        match (self.tag.load(Ordering::Relaxed) & ALTERNATIVE) >> ALTERNATIVE_SHIFT {
            0 => self.op().saves(self.attrs(), self.wanted()),
            place => self.op().alternatives()[place as usize - 1],
        }
    }

    /// Whether the value of this record is held in any case: the user holds a leaf, and an output may be saved.
    fn holds_value(&self) -> bool {
        match (self.role(), self.edges()) {
            (Role::Leaf, _) => true,
            (Role::Operation, _) => !self.is_consumed() && self.saves().outputs.has(0),
            (Role::Output(position), [Some(call), ..]) => !call.is_consumed() && call.saves().outputs.has(position),
            (Role::Output(_), _) => false,
        }
    }

    #[inline]
    fn is_exchangeable(&self) -> bool {
        self.tag.load(Ordering::Relaxed) & EXCHANGEABLE != 0
    }

    /// Replaces the residual by the output, which another record now saves.
    #[cold]
    fn exchange(&self, output: Saved) {
        let Some(place) = self.op().alternatives().iter().position(|saves| *saves == OUTPUT) else { return };
        let mut state = self.state();
        if let SavedList::Two([held @ Saved::Held(_) | held @ Saved::Linked(_), _]) = &mut state.saved
            && self.is_exchangeable()
        {
            *held = output;
            self.tag.fetch_and(!EXCHANGEABLE, Ordering::Relaxed);
            self.tag.fetch_or((place as u64 + 1) << ALTERNATIVE_SHIFT, Ordering::Relaxed);
        }
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

    /// Reserves the record for one sweep that consumes it; false if another sweep already did.
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

    /// The number of operands of the call; at least two for a variadic call.
    pub fn operand_count(&self) -> usize {
        match &self.edges {
            Edges::Two(_) if self.op().accepts(2) => 2,
            Edges::Two(_) => self.op().operands(),
            Edges::Many(edges) => edges.len(),
        }
    }

    /// The record whose output this one squares, if that is a root with a rule for its square.
    pub fn squared_root(&self) -> Option<&Arc<Node>> {
        if !self.op().is_square(self.attrs()) {
            return None;
        }
        let root = self.edges()[0].as_ref()?;
        let is_alike = |edge: &Option<Arc<Node>>| edge.as_ref().is_some_and(|edge| Arc::ptr_eq(edge, root));
        let is_root = self.edges()[..self.op().operands()].iter().all(is_alike)
            && root.role() == Role::Operation
            && root.op().vjp_of_square(root.attrs()).is_some();
        is_root.then_some(root)
    }

    /// The operands that have an edge: those wanted when the call was recorded.
    #[inline]
    pub fn wanted(&self) -> Mask {
        let edges = self.edges();
        Mask::of(edges.len(), |position| edges[position].is_some())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rule's view of the call, for the gradients `needed`. Saved values are moved out of a record that is consumed. `attach`
    /// reattaches an operand or output to the graph. `None` if another sweep consumed the record.
    #[inline]
    pub fn rule(&self, needed: Mask, keep: bool, attach: Option<&Arc<Node>>) -> Result<Option<Rule<'_>>, Error> {
        let (op, attrs) = (self.op(), self.attrs());
        let mut taken: SmallVec<[Saved; 2]> = SmallVec::new();
        let saves = {
            let mut state = self.state();
            let saves = self.saves();
            let list = match &mut state.saved {
                SavedList::Two(list) => &mut list[..],
                SavedList::Many(list) => &mut list[..],
            };
            for saved in &mut list[..saves.count()] {
                taken.push(if keep { saved.clone() } else { std::mem::replace(saved, Saved::Nothing) });
            }
            saves
        };
        // User hooks may run here, so nothing is locked.
        let mut kept: SmallVec<[Kept; 2]> = SmallVec::new();
        let mut is_restored = false;
        for saved in taken {
            is_restored |= matches!(saved, Saved::Packed(_));
            match saved.restore().map_err(|error| error.at(self.line))? {
                Some(saved) => kept.push(saved),
                None => return Ok(None),
            }
        }
        if let Some(this) = attach {
            attach_to_graph(this, saves, &mut kept);
        }
        if !keep {
            self.drop_recipe();
        }
        let mut rule = Rule::from_parts(op.name(), attrs, needed, saves, kept);
        rule.is_restored = is_restored;
        Ok(Some(rule))
    }

    /// Computes the gradients with the operation's shortcut, if it has one for these values; it then takes the cotangent. Saved values are
    /// borrowed in place; a record that is consumed drops them.
    #[inline]
    pub fn pull_directly(&self, keep: bool, cotangent: &mut Option<Tensor>, give: &mut dyn FnMut(usize, Tensor)) {
        let mut state = self.state();
        let SavedList::Two(list) = &mut state.saved else { return };
        self.op().vjp_direct(self.wanted(), cotangent, Held(list), give);
        if cotangent.is_none() && !keep {
            *list = [Saved::Nothing, Saved::Nothing];
            if let Some(extras) = &mut state.extras {
                extras.recipe = None;
            }
        }
    }

    /// Reads how the call is repeated, if that is known.
    pub fn recipe<R>(&self, f: impl FnOnce(&Recipe) -> R) -> Option<R> {
        self.state().extras.as_ref()?.recipe.as_deref().map(f)
    }

    /// A record that is used up holds nothing.
    fn drop_recipe(&self) {
        let recipe = self.state().extras.as_mut().and_then(|extras| extras.recipe.take());
        drop(recipe);
    }

    /// Reads or changes the extras of a record, if it has any.
    pub fn extras<R>(&self, f: impl FnOnce(&mut Extras) -> R) -> Option<R> {
        self.state().extras.as_mut().map(|extras| f(extras))
    }

    /// Reads or changes the extras of a record, and creates them if there are none.
    pub fn extras_or_new<R>(&self, f: impl FnOnce(&mut Extras) -> R) -> R {
        self.tag.fetch_or(DECORATED, Ordering::Relaxed);
        f(self.state().extras.get_or_insert_default())
    }

    /// Whether [`extras`](Node::extras) finds anything, without a lock.
    #[inline]
    pub fn is_decorated(&self) -> bool {
        self.tag.load(Ordering::Relaxed) & DECORATED != 0
    }

    /// The saved values with labels, for tape listings: ("operand 0", value).
    pub fn saved_values(&self) -> Vec<(String, Option<Tensor>)> {
        if self.role() != Role::Operation || self.is_consumed() {
            return Vec::new();
        }
        let state = self.state();
        let saves = self.saves();
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
            Saved::Packed(_) | Saved::Shape(_) | Saved::Nothing => None,
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

/// Replaces a residual by operands that are held anyway, if the rules accept them; otherwise decides whether the output may take its place
/// later. Returns the bits for the record's tag.
fn choose<'e>(
    op: &'static dyn Primitive,
    saves: &mut Saves,
    edge: &impl Fn(usize) -> Option<&'e Arc<Node>>,
    outputs: &[Tensor],
) -> u64 {
    let is_held = |position: usize| edge(position).is_some_and(|node| node.holds_value());
    let costs_nothing = |other: &Saves| other.outputs == Mask::NONE && other.operands.iter().all(is_held);
    if let Some(place) = op.alternatives().iter().position(costs_nothing) {
        *saves = op.alternatives()[place];
        return (place as u64 + 1) << ALTERNATIVE_SHIFT;
    }
    let alone = *saves == Saves::NOTHING.residual() && op.alternatives().contains(&OUTPUT);
    if alone && outputs[0].elements() >= EXCHANGED_FROM { EXCHANGEABLE } else { 0 }
}

#[inline]
fn save(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    saves: Saves,
    operands: &[&Tensor],
    outputs: &[Tensor],
    keep: impl Fn(&Tensor, Origin) -> Saved,
) -> SavedList {
    let residual = saves.residual.then(|| {
        let outputs: SmallVec<[&Tensor; 4]> = outputs.iter().collect();
        // A residual carries no derivative: it is computed from plain values.
        let operands: SmallVec<[Tensor; 2]> = operands.iter().map(|operand| operand.plain()).collect();
        let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
        keep(&op.residual(attrs, &operands, &outputs).plain(), Origin::Residual)
    });
    let places = || {
        (saves.operands.iter().map(|position| keep(operands[position], Origin::Operand(position))))
            .chain(saves.shapes.iter().map(|position| Saved::Shape(Box::new(operands[position].spec()))))
            .chain(saves.outputs.iter().map(|position| keep(&outputs[position], Origin::Output(position))))
            .chain(residual)
    };
    // Nearly all calls save only operands, or one output.
    let only_operands = saves == Saves { operands: saves.operands, ..Saves::NOTHING };
    let mut positions = saves.operands.iter();
    let mut next_operand =
        || positions.next().map_or(Saved::Nothing, |position| keep(operands[position], Origin::Operand(position)));
    if only_operands && saves.operands.count() <= 2 {
        return SavedList::Two([next_operand(), next_operand()]);
    }
    let mut list = places();
    if saves.count() <= 2 {
        let mut next = || list.next().unwrap_or(Saved::Nothing);
        return SavedList::Two([next(), next()]);
    }
    SavedList::Many(list.collect())
}

/// Reattaches saved operands through the record's edges, and saved outputs at the record itself.
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
    /// The record for output `position` of this call.
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

    /// Whether the call has several differentiable outputs, each with a record of its own.
    pub fn has_several_outputs(&self) -> bool {
        self.role() == Role::Operation && self.op().outputs(self.attrs()) > 1
    }
}

/// Frees long chains in a loop, because recursion would overflow the stack.
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
