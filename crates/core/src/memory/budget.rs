//! A limit on the memory of eager code: saved values are evicted when it is reached, and computed again when a rule reads them.

use super::slot::LEAST_BYTES;
use crate::autograd::modes;
use crate::autograd::packing::{self, Purpose, Saver, save_around, with_saver};
use crate::interp::Node;
use crate::location::Line;
use crate::primitive::{Attrs, Primitive, Saved, Saves};
use crate::tensor::Holders;
use crate::types::{Inputs, Recipe, Slot};
use crate::{Error, ErrorKind, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use wengert_kernels::pool;

/// Runs `f` with at most `bytes` of tensors in memory. Where an operation would exceed them, values that were saved for the backward pass are
/// dropped, and computed again when the backward pass reads them: those that are cheap for their size and have not been used for long come
/// first. Results have the same bits.
///
/// It needs no change of the code, which may branch and loop as it likes, under `backward` and `grad`. What is never dropped: tensors that
/// you hold, leaves, and results of operations with an [effect](crate::primitive::Primitive::effect), of functions with custom rules, of
/// compiled functions and of loops. If dropping all others is not enough, the operation that asked for memory fails with
/// [`ErrorKind::Budget`], and no gradient changes.
///
/// The budget is compared with all memory that was allocated for tensors in this process
/// ([`memory::statistics`](crate::memory::statistics)), parameters included; vectors that were handed over and foreign memory are not counted. It holds for operations of this thread until `f` returns, so the backward pass belongs inside. Nested budgets hold together.
/// A compiled function has its own: `within`.
///
/// ```standalone_crate
/// use wengert::prelude::*;
/// use wengert::memory::{self, with_memory_budget};
/// let x = Tensor::linspace(0.0, 1.0, 100_000).require_grad();
/// let chain = || (0..64).fold(x.clone(), |y, _| y.sin()).sum().backward();
/// chain();
/// let plain = x.take_grad().unwrap();
/// // Room for 20 vectors instead of 64.
/// with_memory_budget(memory::statistics().live_bytes + 20 * 800_000, chain);
/// assert_eq!(x.take_grad().unwrap(), plain);
/// ```
#[track_caller]
pub fn with_memory_budget<R>(bytes: usize, f: impl FnOnce() -> R) -> R {
    expect_numbers("with_memory_budget");
    let in_use = || pool::statistics().live_bytes;
    while in_use() > bytes && make_room(in_use() - bytes) {}
    if in_use() > bytes {
        let (needed, allowed) = (in_use(), bytes);
        let message = format!("{needed} bytes of tensors are in use already, and the budget is {allowed}");
        Error::new(ErrorKind::Budget { needed, allowed }, "with_memory_budget", message)
            .help("the budget holds for all tensors, those that exist before included; memory::smallest_budget(..) finds a feasible one")
            .at(Line::caller())
            .raise();
    }
    pool::within(bytes, make_room, || with_saver(Some(Evictor::new()), f))
}

/// The smallest budget with which [`with_memory_budget`] can run `f`, in bytes, and what `f` returns. Everything that can be evicted is evicted
/// before each allocation, so this may take much longer than `f` itself. Small tensors are counted every 64 KiB, so leave that much room.
///
/// ```standalone_crate
/// use wengert::prelude::*;
/// use wengert::memory::{smallest_budget, with_memory_budget};
/// let x = Tensor::linspace(0.0, 1.0, 100_000).require_grad();
/// let chain = || (0..16).fold(x.clone(), |y, _| y.sin()).sum().backward();
/// let (_, bytes) = smallest_budget(chain);
/// let plain = x.take_grad().unwrap().to_vec::<f64>();
/// with_memory_budget(bytes + (1 << 16), chain);
/// assert_eq!(x.take_grad().unwrap().to_vec::<f64>(), plain);
/// assert!(catch(|| with_memory_budget(bytes - 100_000, chain)).is_err());
/// ```
#[track_caller]
pub fn smallest_budget<R>(f: impl FnOnce() -> R) -> (R, usize) {
    expect_numbers("smallest_budget");
    pool::measured(make_room, || with_saver(Some(Evictor::new()), f))
}

#[track_caller]
fn expect_numbers(caller: &str) {
    if modes::is_tracing() {
        Error::new(ErrorKind::Argument, caller, "a function that is traced computes nothing yet")
            .help("compile(f).within(bytes) and compile_step(f).within(bytes) plan for a budget")
            .at(Line::caller())
            .raise();
    }
}

/// All slots; operands come before results.
static SLOTS: Mutex<Vec<Weak<Slot>>> = Mutex::new(Vec::new());

fn slots() -> MutexGuard<'static, Vec<Weak<Slot>>> {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts saved values into slots.
struct Evictor {
    /// What has no slot is stored by the saver around this one.
    outer: Option<Arc<dyn Saver>>,
}

impl Evictor {
    fn new() -> Arc<Evictor> {
        // A budget around this one does the same with the same slots.
        Arc::new(Evictor { outer: packing::saver() })
    }
}

impl Saver for Evictor {
    fn save(self: Arc<Self>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
        match purpose.slot.as_ref().and_then(|slot| slot.hold(value)) {
            Some(packed) => Saved::packed(packed),
            None => save_around(&self.outer, level, value, purpose),
        }
    }

    fn recipe<'e>(
        &self,
        level: u64,
        call: (&'static dyn Primitive, &Attrs, Saves),
        operands: &[&Tensor],
        outputs: &[Tensor],
        edge: &dyn Fn(usize) -> Option<&'e Arc<Node>>,
    ) -> Option<Box<Recipe>> {
        let recipe = Recipe::of(level, call, operands, outputs, edge)?;
        slots().extend(recipe.slots().iter().map(Arc::downgrade));
        Some(recipe)
    }
}

/// A search among thousands of values takes as long as a small operation, so each one frees at least this part of what can be freed.
const LEAST_PART: usize = 64;

/// Evicts values until `excess` bytes are free, or nothing is left; returns whether it evicted any.
fn make_room(excess: usize) -> bool {
    // Locked until the end: two threads must not decide from the same state.
    let mut slots = slots();
    slots.retain(|slot| slot.strong_count() > 0);
    let live: Vec<Arc<Slot>> = slots.iter().filter_map(Weak::upgrade).collect();
    let survey = Survey::of(&live);
    let mut found = survey.candidates();
    found.sort_unstable_by(|a, b| a.order().partial_cmp(&b.order()).expect("work is finite"));
    let all: usize = found.iter().map(|candidate| candidate.bytes).sum();
    let (mut freed, mut touched) = (0, vec![false; live.len()]);
    for candidate in &found {
        if freed >= excess.max(all / LEAST_PART) {
            break;
        }
        if !candidate.inputs.is_empty() {
            // What may be given up, and evicted after that, depends on everything evicted before.
            if freed == 0 {
                candidate.outputs.iter().for_each(|&place| live[place].pin());
                candidate.inputs.iter().for_each(|inputs| inputs.forget());
                return true;
            }
            continue;
        }
        // What was evicted in this search changes the worth of its neighbours.
        if candidate.slots.iter().any(|&place| touched[place]) {
            continue;
        }
        freed += candidate.bytes;
        for &place in &candidate.slots {
            live[place].evict();
            touched[place] = true;
            survey.operands[place].iter().for_each(|&operand| touched[operand] = true);
        }
    }
    freed > 0
}

/// A block of memory that can be freed: by evicting the values of slots, or by giving up to repeat calls that read it.
#[derive(Default)]
struct Candidate {
    slots: Vec<usize>,
    /// The operands to drop, and the slots of the calls' outputs.
    inputs: Vec<Arc<Inputs>>,
    outputs: Vec<usize>,
    bytes: usize,
    work: f64,
    /// The time since the latest use of any.
    idle: u64,
    /// The references to the block, and how many of them are known here.
    holders: usize,
    own: usize,
    /// Handles to the block that several tensors share: their references, and how many of them are known here.
    handles: FxHashMap<usize, (usize, usize)>,
    is_excluded: bool,
}

impl Candidate {
    fn count(&mut self, holders: &Holders) {
        (self.bytes, self.holders) = (holders.bytes, holders.holders);
        match holders.handle {
            Some((handle, references)) => self.handles.entry(handle).or_insert((references, 0)).1 += 1,
            None => self.own += 1,
        }
    }

    /// Whether nobody else holds the memory, so that it can be freed.
    fn is_free(&self) -> bool {
        let is_alone =
            self.handles.values().all(|(all, own)| all == own) && self.holders == self.own + self.handles.len();
        is_alone && !self.is_excluded && (self.slots.is_empty() || self.inputs.is_empty())
    }

    /// What goes first: the least work of computing it again, for each byte and unit of idle time. A call is given up if its operands
    /// are as large as its outputs, one of which has to stay; smaller ones come last. Ties are broken by age, so that the choice is the same
    /// in every run.
    fn order(&self) -> (bool, f64, usize) {
        let comes_last = !self.inputs.is_empty() && self.work > self.bytes as f64;
        let worth = if self.inputs.is_empty() { self.work / (self.bytes as f64 * (self.idle + 1) as f64) } else { 0.0 };
        (comes_last, worth, self.slots.first().or(self.outputs.first()).copied().unwrap_or(usize::MAX))
    }
}

/// All slots at one time.
struct Survey<'s> {
    slots: &'s [Arc<Slot>],
    operands: Vec<SmallVec<[usize; 4]>>,
    is_held: Vec<bool>,
    is_pinned: Vec<bool>,
    /// Whether the value can be had for as long as others may need it.
    lasts: Vec<bool>,
    /// The work of computing a value, with that of evicted values before it.
    before: Vec<f64>,
    /// The work of evicted values after it, which would begin further back without it.
    after: Vec<f64>,
}

impl<'s> Survey<'s> {
    fn of(slots: &'s [Arc<Slot>]) -> Survey<'s> {
        let places: FxHashMap<*const Slot, usize> =
            slots.iter().enumerate().map(|(place, slot)| (Arc::as_ptr(slot), place)).collect();
        let (mut operands, mut is_held, mut is_pinned) = (Vec::new(), Vec::<bool>::new(), Vec::new());
        let (mut lasts, mut before) = (Vec::<bool>::new(), Vec::<f64>::new());
        let mut missing_work = 0.0;
        for slot in slots {
            let held = slot.look();
            let known: SmallVec<[Option<usize>; 2]> =
                slot.operands.iter().map(|operand| places.get(&operand.as_ptr()).copied()).collect();
            let is_repeatable =
                slot.is_repeatable() && known.iter().all(|operand| operand.is_some_and(|operand| lasts[operand]));
            let pinned = held.as_ref().is_some_and(|held| held.is_pinned);
            let known: SmallVec<[usize; 4]> = known.into_iter().flatten().collect();
            let missing =
                known.iter().filter(|operand| !is_held[**operand]).map(|operand| before[*operand]).sum::<f64>();
            // Values that several paths lead to are computed once.
            before.push(slot.cost + missing.min(missing_work));
            missing_work += if held.is_none() { slot.cost } else { 0.0 };
            lasts.push(is_repeatable || pinned);
            is_held.push(held.is_some());
            is_pinned.push(pinned);
            operands.push(known);
        }
        let mut after = vec![0.0; slots.len()];
        for (place, slot) in slots.iter().enumerate().rev() {
            if !is_held[place] && (slot.is_used() || after[place] > 0.0) {
                let work = (slot.cost + after[place]).min(missing_work);
                operands[place].iter().for_each(|operand| after[*operand] += work);
            }
        }
        Survey { slots, operands, is_held, is_pinned, lasts, before, after }
    }

    /// The blocks that can be freed.
    fn candidates(&self) -> Vec<Candidate> {
        let mut found: FxHashMap<usize, Candidate> = FxHashMap::default();
        for (place, slot) in self.slots.iter().enumerate().filter(|(place, _)| self.is_held[*place]) {
            let Some(held) = slot.look() else { continue };
            let Some(holders) = held.holders else { continue };
            let candidate =
                found.entry(holders.block).or_insert_with(|| Candidate { idle: held.idle, ..Candidate::default() });
            candidate.count(&holders);
            candidate.slots.push(place);
            candidate.work += self.before[place] + self.after[place];
            candidate.idle = candidate.idle.min(held.idle);
            candidate.is_excluded |= self.is_pinned[place] || !self.lasts[place];
        }
        // The slots of one call are neighbours.
        let mut next = 0;
        for call in self.slots.chunk_by(|a, b| Arc::ptr_eq(&a.inputs, &b.inputs)) {
            let outputs = next..next + call.len();
            next = outputs.end;
            let is_needed = |place: usize| self.slots[place].is_used() || self.after[place] > 0.0;
            let can_be_given_up = outputs.clone().all(|place| self.is_held[place] || !is_needed(place));
            let (inputs, size) = (&call[0].inputs, call.iter().map(|slot| slot.bytes).sum::<usize>());
            inputs.peek(|given| {
                let holders = given.iter().flatten().filter_map(Tensor::holders);
                for holders in holders.filter(|holders| holders.bytes >= LEAST_BYTES) {
                    let candidate = found.entry(holders.block).or_default();
                    candidate.count(&holders);
                    candidate.is_excluded |= !can_be_given_up;
                    candidate.work += size as f64;
                    if candidate.inputs.last().is_none_or(|last| !Arc::ptr_eq(last, inputs)) {
                        candidate.inputs.push(inputs.clone());
                        candidate.outputs.extend(outputs.clone());
                    }
                }
            });
        }
        found.into_values().filter(Candidate::is_free).collect()
    }
}
