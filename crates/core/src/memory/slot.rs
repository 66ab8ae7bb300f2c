//! Saved values that can be dropped and computed again, from the records that made them.
//!
//! A call that is recorded within a memory budget leaves a recipe in its record: a slot for each output, and the operands that no slot
//! holds. A slot holds its value as long as a rule will read it, unless it is evicted; then the first rule that reads it runs the call
//! again, and those before it as far as necessary. Slots refer to records weakly, and records own their operands' records, so there are no
//! cycles.

use crate::interp::{Node, Role, eval, freed};
use crate::primitive::{Attrs, Primitive, Saves, Spec};
use crate::tensor::{Holders, Value};
use crate::types::{Given, Inputs, Packed, Recipe, Slot, SlotState};
use crate::{Error, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Counts reads and writes of slots, which tells how long a value has not been used.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Smaller values are not worth a slot.
pub(super) const LEAST_BYTES: usize = 512;

impl Inputs {
    fn given(&self) -> MutexGuard<'_, Option<Given>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the operands to `f`.
    pub(super) fn peek<R>(&self, f: impl FnOnce(&[Option<Tensor>]) -> R) -> Option<R> {
        self.given().as_deref().map(f)
    }

    /// Drops the operands.
    pub(super) fn forget(&self) {
        let given = self.given().take();
        drop(given);
    }
}

/// What eviction asks of a slot that holds its value.
pub(super) struct Held {
    pub holders: Option<Holders>,
    /// The time since the last use.
    pub idle: u64,
    pub is_pinned: bool,
}

impl Recipe {
    /// The recipe of a call of level `level` that is about to be recorded, unless it must not be repeated or works on tensors of a transform.
    pub fn of<'e>(
        level: u64,
        (op, attrs, saves): (&'static dyn Primitive, &Attrs, Saves),
        operands: &[&Tensor],
        outputs: &[Tensor],
        edge: &dyn Fn(usize) -> Option<&'e Arc<Node>>,
    ) -> Option<Box<Recipe>> {
        if op.effect(attrs) || op.function(attrs).is_some() || op.control().is_some() {
            return None;
        }
        let is_plain = |tensor: &Tensor| match level {
            0 => !matches!(tensor.value, Value::Tracer(_)),
            _ => tensor.is_plain(),
        };
        if !operands.iter().all(|operand| is_plain(operand)) || !outputs.iter().all(is_plain) {
            return None;
        }
        let sources: SmallVec<[Option<Arc<Slot>>; 2]> =
            (0..operands.len()).map(|position| edge(position).and_then(|node| node.slot())).collect();
        // The memory of an operand that was updated in place holds the output.
        let is_overwritten = |operand: &Tensor| outputs.iter().any(|output| std::ptr::eq(output, operand));
        if operands.iter().zip(&sources).any(|(operand, source)| source.is_none() && is_overwritten(operand)) {
            return None;
        }
        let given = operands.iter().zip(&sources);
        let given = given.map(|(operand, source)| source.is_none().then(|| operand.plain())).collect();
        let inputs = Arc::new(Inputs(Mutex::new(Some(given))));
        let specs: Vec<Spec> = outputs.iter().map(Tensor::spec).collect();
        let cost = {
            let operands: SmallVec<[_; 2]> = operands.iter().map(|operand| operand.value.spec_ref()).collect();
            let cost = op.cost(attrs, &operands, &specs);
            cost.flops + cost.bytes
        };
        let parents: SmallVec<[Weak<Slot>; 2]> = sources.iter().flatten().map(Arc::downgrade).collect();
        let slot = |position: usize| {
            let bytes = specs.get(position).map_or(0, Spec::bytes);
            let state = Mutex::new(SlotState { value: None, users: 0, used: 0, is_pinned: false });
            let (made_by, operands) = (OnceLock::new(), parents.clone());
            Arc::new(Slot { made_by, inputs: inputs.clone(), operands, cost, bytes, state })
        };
        let slots = (0..outputs.len() + usize::from(saves.residual)).map(slot).collect();
        Some(Box::new(Recipe { slots, inputs, has_residual: saves.residual }))
    }

    /// All slots.
    pub(super) fn slots(&self) -> &[Arc<Slot>] {
        &self.slots
    }

    /// The slot of an output.
    pub fn output(&self, position: usize) -> &Arc<Slot> {
        &self.slots[position]
    }

    /// The slot of the residual.
    pub fn residual(&self) -> Option<&Arc<Slot>> {
        self.slots.last().filter(|_| self.has_residual)
    }

    /// Names the record that the recipe belongs to.
    pub fn belongs_to(&self, node: &Arc<Node>) {
        for slot in &self.slots {
            let _ = slot.made_by.set(Arc::downgrade(node));
        }
    }
}

/// A record that is used up drops its recipe: what it made stays where it is.
impl Drop for Recipe {
    fn drop(&mut self) {
        self.inputs.forget();
    }
}

impl Node {
    /// The slot of the value of this record, if it can be computed again.
    pub fn slot(&self) -> Option<Arc<Slot>> {
        match self.role() {
            Role::Leaf => None,
            Role::Operation => self.recipe(|recipe| recipe.output(0).clone()),
            Role::Output(position) => self.edges()[0].as_ref()?.recipe(|recipe| recipe.output(position).clone()),
        }
    }
}

/// A saved value that may have to be computed again.
struct Evictable {
    slot: Arc<Slot>,
    spec: Spec,
}

impl Packed for Evictable {
    fn unpack(&self) -> Result<Tensor, Error> {
        let value = self.slot.restore()?;
        debug_assert_eq!(value.spec(), self.spec, "a call that is repeated has the same outputs");
        Ok(value)
    }
}

impl Drop for Evictable {
    fn drop(&mut self) {
        let mut state = self.slot.state();
        state.users -= 1;
        let unused = if state.users == 0 && !state.is_pinned { state.value.take() } else { None };
        drop(state);
        drop(unused);
    }
}

impl Slot {
    /// A stand-in for `value`, which this slot holds from now on; `None` if it is too small to be worth it.
    pub(super) fn hold(self: &Arc<Slot>, value: &Tensor) -> Option<impl Packed + use<>> {
        let spec = value.spec();
        if spec.bytes() < LEAST_BYTES {
            return None;
        }
        let mut state = self.state();
        state.users += 1;
        state.used = CLOCK.fetch_add(1, Ordering::Relaxed);
        state.value.get_or_insert_with(|| value.plain());
        drop(state);
        Some(Evictable { slot: self.clone(), spec })
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, if it is held.
    pub(super) fn held(&self) -> Option<Tensor> {
        let mut state = self.state();
        state.used = CLOCK.fetch_add(1, Ordering::Relaxed);
        state.value.clone()
    }

    /// What eviction asks, if the value is held.
    pub(super) fn look(&self) -> Option<Held> {
        let state = self.state();
        let idle = CLOCK.load(Ordering::Relaxed) - state.used;
        state.value.as_ref().map(|value| Held { holders: value.holders(), idle, is_pinned: state.is_pinned })
    }

    /// Whether some record saves it.
    pub(super) fn is_used(&self) -> bool {
        self.state().users > 0
    }

    /// Drops the value.
    pub(super) fn evict(&self) {
        let value = self.state().value.take();
        drop(value);
    }

    /// Holds the value again, if some record saves it.
    fn put(&self, value: &Tensor) {
        let mut state = self.state();
        if state.users > 0 {
            state.used = CLOCK.fetch_add(1, Ordering::Relaxed);
            state.value.get_or_insert_with(|| value.clone());
        }
    }

    /// Keeps the value, if it is held, until the record is used up.
    pub(super) fn pin(&self) {
        self.state().is_pinned = true;
    }

    /// Whether the call can be made again, if its operands are there.
    pub(super) fn is_repeatable(&self) -> bool {
        self.made_by.get().is_some() && self.inputs.given().is_some()
    }

    fn maker(&self) -> Option<Arc<Node>> {
        self.made_by.get()?.upgrade()
    }

    /// The value; if it was evicted, it and what it needs are computed again.
    fn restore(self: &Arc<Slot>) -> Result<Tensor, Error> {
        if let Some(value) = self.held() {
            return Ok(value);
        }
        let Some(maker) = self.maker() else { unreachable!("a record that saves a value owns those that lead to it") };
        let mut plan = Plan::default();
        plan.add(maker)?;
        plan.run(self)
    }
}

type SlotId = *const Slot;

/// Calls to be repeated.
#[derive(Default)]
struct Plan {
    /// By number, so that operands come first.
    calls: BTreeMap<u64, Call>,
    /// Values that the calls read, until the last one has.
    values: FxHashMap<SlotId, Tensor>,
    /// How many calls are still to read a value.
    readers: FxHashMap<SlotId, usize>,
}

struct Call {
    node: Arc<Node>,
    operands: Vec<Operand>,
    slots: SmallVec<[Arc<Slot>; 2]>,
    has_residual: bool,
}

enum Operand {
    Given(Tensor),
    From(SlotId),
}

impl Plan {
    /// Adds a call, and those that compute its operands where these are not held.
    fn add(&mut self, node: Arc<Node>) -> Result<(), Error> {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if self.calls.contains_key(&node.id()) {
                continue;
            }
            let read = |recipe: &Recipe| {
                let given = recipe.inputs.given().clone()?;
                Some((recipe.slots.clone(), given, recipe.has_residual))
            };
            let (slots, given, has_residual) = node.recipe(read).flatten().ok_or_else(|| freed(&node))?;
            let mut operands = Vec::with_capacity(given.len());
            for (position, given) in given.into_iter().enumerate() {
                if let Some(value) = given {
                    operands.push(Operand::Given(value));
                    continue;
                }
                let edge = node.edges()[position].as_ref().expect("an operand without a value has a record");
                let slot = edge.slot().ok_or_else(|| freed(edge))?;
                let id = Arc::as_ptr(&slot);
                *self.readers.entry(id).or_default() += 1;
                operands.push(Operand::From(id));
                if self.values.contains_key(&id) {
                    continue;
                }
                match slot.held() {
                    Some(value) => drop(self.values.insert(id, value)),
                    None => open.push(slot.maker().expect("it is a record below this one")),
                }
            }
            self.calls.insert(node.id(), Call { node, operands, slots, has_residual });
        }
        Ok(())
    }

    /// Repeats the calls, oldest first, and returns the value of `target`.
    fn run(mut self, target: &Arc<Slot>) -> Result<Tensor, Error> {
        let mut wanted = None;
        for (_, Call { node, operands, slots, has_residual }) in std::mem::take(&mut self.calls) {
            let values: SmallVec<[Tensor; 2]> = operands
                .iter()
                .map(|operand| match operand {
                    Operand::Given(value) => value.clone(),
                    Operand::From(slot) => self.values[slot].clone(),
                })
                .collect();
            for operand in &operands {
                if let Operand::From(slot) = operand {
                    let readers = self.readers.get_mut(slot).expect("it was counted");
                    *readers -= 1;
                    if *readers == 0 {
                        self.values.remove(slot);
                    }
                }
            }
            let operands: SmallVec<[&Tensor; 4]> = values.iter().collect();
            let mut results = eval::apply(node.op(), node.attrs(), &operands).map_err(|error| error.at(node.line))?;
            let is_read = |slot: &Arc<Slot>| slot.is_used() || Arc::ptr_eq(slot, target);
            if has_residual && slots.last().is_some_and(is_read) {
                let residual = node.op().residual(node.attrs(), &operands, &results.iter().collect::<Vec<_>>());
                results.push(residual.plain());
            }
            drop(operands);
            drop(values);
            for (slot, value) in slots.iter().zip(results) {
                slot.put(&value);
                if Arc::ptr_eq(slot, target) {
                    wanted = Some(value.clone());
                }
                if self.readers.get(&Arc::as_ptr(slot)).is_some_and(|readers| *readers > 0) {
                    self.values.insert(Arc::as_ptr(slot), value);
                }
            }
        }
        Ok(wanted.expect("the call of the wanted value is the last one"))
    }
}
