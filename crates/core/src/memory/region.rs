//! A region of the program whose saved values are recomputed instead of kept.
//!
//! The function records as usual, but every value that its records save is replaced by a promise: the index of that value among those that
//! the level saves here. The first promise that a sweep reads reruns the function on the same inputs. The values that the level saves in
//! the second run are the promised ones, in the same order. The records of the second run are discarded. Values saved by lower levels,
//! which may be differentiated later, become promises of the second run.
//!
//! A nested region promises its inputs too, so the outer region keeps nothing of it.
//!
//! The outputs of calls with an effect are kept by all enclosing regions: the second run receives them and does not repeat the calls. A
//! policy can keep those of other calls too; they are saved as the inputs are.

use super::verify::{Expected, Place, Verify};
use crate::autograd::modes::{self, Stopped};
use crate::autograd::packing::{self, Packed, Purpose, Run, Saver, with_saver};
use crate::bind::bind1;
use crate::ground::internal::barrier::BARRIER;
use crate::interp::Level;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Outputs, Primitive, Saved, Saves};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Inputs of nested regions have their own list, next to those of the levels.
const INPUTS: u64 = u64::MAX;

/// Runs the function on its inputs and discards the result.
type Function = dyn Fn(Vec<Tensor>) + Send + Sync;

/// One run of a function whose saved values can be recomputed.
pub struct Region {
    /// Present until the region is dropped.
    source: Option<Arc<Rerun>>,
    line: Line,
    /// Levels opened later belong to the function: the values they save are consumed inside it.
    newest: u64,
    stopped: Stopped,
    lists: Mutex<Lists>,
    run_state: Mutex<RunState>,
    kept: KeptCalls,
}

/// The calls of the first run that are not made again: each operation and its outputs.
type KeptCalls = Arc<Mutex<Vec<(&'static str, SmallVec<[Saved; 1]>)>>>;

/// Whether the outputs of a call are kept.
pub type Keeps = dyn Fn(&'static dyn Primitive, &Attrs) -> bool + Send + Sync;

/// Where the inputs come from when the function is rerun.
pub enum Inputs {
    /// They were saved.
    Saved(Vec<Saved>),
    /// They are computed from other values. Then the numbers of the second run differ from those of the first by rounding errors, up to
    /// this part of them.
    Rebuilt {
        /// Computes them.
        rebuild: Box<dyn Fn() -> Result<Vec<Tensor>, Error> + Send + Sync>,
        /// The part.
        tolerance: f64,
    },
}

/// The function to rerun, its inputs, and what both runs have in common.
struct Rerun {
    run: Box<Function>,
    inputs: Inputs,
    keeps: Option<Arc<Keeps>>,
    /// Keeps outputs for this region.
    outer: Option<Arc<dyn Saver>>,
    verify: Verify,
}

impl Rerun {
    fn tolerance(&self) -> f64 {
        if let Inputs::Rebuilt { tolerance, .. } = self.inputs { tolerance } else { 0.0 }
    }
}

/// The state of the run that made the promises.
#[derive(Clone, Copy, PartialEq)]
enum RunState {
    Running,
    Ended,
    /// It was stopped as soon as everything needed was available, so another run may save more.
    Stopped,
}

/// Lists by level.
type Lists = FxHashMap<u64, List>;

/// The calls that a level has made so far.
#[derive(Clone, Copy, Default, PartialEq)]
struct Calls {
    count: usize,
    /// A hash of their operations and attributes.
    hash: u64,
}

impl Calls {
    fn add(&mut self, (name, attrs): (&'static str, &Attrs)) {
        let mut hasher = FxHasher::default();
        (self.hash, name, attrs).hash(&mut hasher);
        *self = Calls { count: self.count + 1, hash: hasher.finish() };
    }
}

/// The values that one level saves in a region.
#[derive(Default)]
struct List {
    promised: Vec<Promised>,
    calls: Calls,
    /// Values of the latest run that have not been taken yet.
    values: Vec<Option<Tensor>>,
}

/// A value that the second run has to save again.
struct Promised {
    /// The calls made before it was saved.
    calls: Calls,
    expected: Expected,
}

impl Region {
    /// A region for one run on these inputs, which are saved like any other value.
    pub fn new(
        inputs: &[&Tensor],
        keeps: Option<Arc<Keeps>>,
        run: impl Fn(Vec<Tensor>) + Send + Sync + 'static,
        line: Line,
    ) -> Arc<Region> {
        // Inputs keep their place in the graph, which the second run needs, so no slot holds them.
        let save = |(position, input): (usize, &&Tensor)| {
            packing::save(INPUTS, input, &Purpose::input("checkpoint", line, position))
        };
        let inputs = Inputs::Saved(inputs.iter().enumerate().map(save).collect());
        Region::from_inputs(inputs, keeps, run, line)
    }

    /// A region for one run, with this way to get the inputs again.
    pub fn from_inputs(
        inputs: Inputs,
        keeps: Option<Arc<Keeps>>,
        run: impl Fn(Vec<Tensor>) + Send + Sync + 'static,
        line: Line,
    ) -> Arc<Region> {
        let (outer, verify) = (packing::saver(), Verify::current());
        let source = Arc::new(Rerun { run: Box::new(run), inputs, keeps, outer, verify });
        Region::again(source, line, Level::newest(), modes::stopped(), KeptCalls::default())
    }

    fn again(source: Arc<Rerun>, line: Line, newest: u64, stopped: Stopped, kept: KeptCalls) -> Arc<Region> {
        let (source, run_state) = (Some(source), Mutex::new(RunState::Running));
        Arc::new(Region { source, line, newest, stopped, lists: Mutex::default(), run_state, kept })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(&'static str, SmallVec<[Saved; 1]>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn source(&self) -> &Arc<Rerun> {
        self.source.as_ref().expect("it is there until the region is dropped")
    }

    /// Runs `f`; the values it saves become promises of this region.
    pub fn record<R>(self: Arc<Region>, f: impl FnOnce() -> R) -> R {
        let result = with_saver(Some(self.clone()), f);
        self.end(RunState::Ended);
        result
    }

    fn run_state(&self) -> RunState {
        *self.run_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run and drops the values that were held for it.
    fn end(&self, state: RunState) {
        *self.run_state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.lists().values_mut().for_each(|list| list.values.clear());
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn promised(&self, level: u64) -> Vec<Calls> {
        self.lists()
            .get(&level)
            .map_or_else(Vec::new, |list| list.promised.iter().map(|promised| promised.calls).collect())
    }

    /// Value `index` of `level`. If it has to be recomputed, so are the others, and those of `beside`.
    fn value(&self, level: u64, index: usize, beside: u64) -> Result<Tensor, Error> {
        if self.run_state() == RunState::Running {
            // A transform inside the function returns to a nested region, whose inputs are held until the run is over.
            let held = self.lists().get(&level).and_then(|list| list.values.get(index)?.clone());
            return held.ok_or_else(|| self.asked_too_early());
        }
        let take = |lists: &mut Lists| lists.get_mut(&level).and_then(|list| list.values.get_mut(index)?.take());
        if let Some(value) = take(&mut self.lists()) {
            return Ok(value);
        }
        // Another sweep may need the same value, so it is taken while the lists are locked.
        let mut lists = self.compute_again(beside)?;
        let value = take(&mut lists);
        drop(lists);
        value.ok_or_else(|| self.changed("it saved fewer values"))
    }

    fn compute_again(&self, level: u64) -> Result<MutexGuard<'_, Lists>, Error> {
        let Rerun { run, inputs, .. } = &**self.source();
        let inputs = match inputs {
            Inputs::Saved(inputs) => {
                inputs.iter().map(|input| restore_input(input, level)).collect::<Result<Vec<_>, _>>()?
            }
            Inputs::Rebuilt { rebuild, .. } => rebuild()?,
        };
        let below = Region::again(self.source().clone(), self.line, self.newest, self.stopped, self.kept.clone());
        let wanted = [level, INPUTS].map(|level| (level, self.promised(level)));
        let again =
            Arc::new(Again { wanted, below: below.clone(), found: Mutex::default(), kept: AtomicUsize::new(0) });
        let _scope = (location::scope(self.line), location::inherit(None));
        let run = || {
            let inputs = inputs.into_iter().map(behind_barrier).collect();
            with_saver(Some(again.clone()), || run(inputs));
        };
        let ended = modes::replaying(self.stopped, || catch_unwind(AssertUnwindSafe(run)));
        below.end(if ended.is_ok() { RunState::Ended } else { RunState::Stopped });
        if let Err(payload) = ended
            && !payload.is::<Complete>()
        {
            resume_unwind(payload);
        }
        let found = std::mem::take(&mut *again.found());
        let mut lists = self.lists();
        for ((level, promised), found) in again.wanted.iter().zip(found) {
            let (values, promised_count) = (found.values, promised.len());
            let more = values.len() > promised_count && self.run_state() == RunState::Ended;
            let how = if values.len() < promised_count || more {
                Some(format!("it saved {} values, {promised_count} before", values.len()))
            } else {
                let mut pairs = promised.iter().zip(&found.saved_after).enumerate();
                let other = pairs.find(|(_, (before, (now, _)))| *before != now);
                other.map(|(number, (before, (now, place)))| {
                    let operations = match (before.count, now.count) {
                        (before, now) if before == now => {
                            format!("the operations until it saved value {number} are others than before")
                        }
                        (before, now) => {
                            format!("it made {now} operations until it saved value {number}, {before} before")
                        }
                    };
                    let before = lists.get(level).and_then(|list| list.promised.get(number));
                    let what = before.map(|before| before.expected.replaced(*place, &values[number]));
                    what.into_iter().fold(operations, |operations, what| format!("{operations}: {what}"))
                })
            };
            let how = how.or_else(|| {
                let pairs = lists.get(level).into_iter().flat_map(|list| list.promised.iter().zip(&values));
                let tolerance = self.source().tolerance();
                pairs
                    .into_iter()
                    .find_map(|(promised, value)| promised.expected.difference(value, tolerance))
                    .map(|how| format!("it saved other numbers: {how}"))
            });
            if let Some(how) = how {
                drop(lists);
                return Err(self.changed(&how));
            }
            lists.entry(*level).or_default().values = values.into_iter().map(Some).collect();
        }
        Ok(lists)
    }

    fn asked_too_early(&self) -> Error {
        let message = "a sweep inside the function asks for what the function saves while it runs";
        Error::new(ErrorKind::Checkpoint, "checkpoint", message)
            .at(self.line)
            .help("call backward outside of the function, or differentiate inside it with grad")
    }

    fn changed(&self, how: &str) -> Error {
        let message = format!("the function did something else when it was computed again: {how}");
        Error::new(ErrorKind::Checkpoint, "checkpoint", message)
            .at(self.line)
            .help("it must do the same for the same inputs: pass what changes, random keys too, as inputs")
    }
}

thread_local! {
    /// Remains of regions, collected while regions are being dropped.
    static LEFT: RefCell<Option<Vec<(Option<Arc<Rerun>>, Lists)>>> = const { RefCell::new(None) };
}

/// An input of a region leads to the records of the region before it. Long chains are freed in a loop, because recursion would overflow the
/// stack.
impl Drop for Region {
    fn drop(&mut self) {
        let left = (self.source.take(), std::mem::take(&mut *self.lists()));
        let mut last = Some(left);
        let first = LEFT.try_with(|waiting| match &mut *waiting.borrow_mut() {
            Some(waiting) => {
                waiting.extend(last.take());
                false
            }
            empty => {
                *empty = Some(Vec::new());
                true
            }
        });
        while let Some(left) = last {
            drop(left);
            last = LEFT.try_with(|waiting| waiting.borrow_mut().as_mut().and_then(Vec::pop)).ok().flatten();
        }
        if first == Ok(true) {
            LEFT.with(|waiting| *waiting.borrow_mut() = None);
        }
    }
}

/// Whether a value takes no more memory than a promise: a single element.
fn is_worth_nothing(value: &Tensor) -> bool {
    matches!(value.value, Value::One(_)) && value.link.is_none()
}

impl Saver for Region {
    fn save(self: Arc<Region>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
        if is_worth_nothing(value) || (level > self.newest && level != INPUTS) {
            return Saved::keep(value);
        }
        let expected = Expected::of(value, self.source().verify, Place::of(purpose));
        let index = {
            let mut lists = self.lists();
            let list = lists.entry(level).or_default();
            list.promised.push(Promised { calls: list.calls, expected });
            if level == INPUTS {
                list.values.push(Some(Tensor { slot: None, ..value.clone() }));
            }
            list.promised.len() - 1
        };
        Saved::packed(Promise { region: self, level, index })
    }

    fn runs_again(&self) -> bool {
        true
    }

    fn expect(&self, level: u64, call: (&'static str, &Attrs), _operands: &[&Tensor], _saves: Saves) {
        self.lists().entry(level).or_default().calls.add(call);
    }

    fn keeps(&self, (op, attrs): (&'static dyn Primitive, &Attrs)) -> bool {
        self.source().keeps.as_ref().is_some_and(|keeps| keeps(op, attrs))
    }

    fn once(
        &self,
        level: u64,
        (op, attrs): (&'static dyn Primitive, &Attrs),
        run: &mut Run<'_>,
    ) -> Result<Outputs, Error> {
        let outputs = run()?;
        let has_effect = op.effect(attrs);
        if level <= self.newest && (has_effect || self.keeps((op, attrs))) {
            // An effect cannot be repeated, so its outputs stay here; all others may be kept as the region around this one decides.
            let outer = self.source().outer.as_ref().filter(|_| !has_effect);
            let purpose = |position| Purpose::input(op.name(), self.line, position);
            let keep = |(position, output)| packing::save_with(outer.cloned(), INPUTS, output, &purpose(position));
            let outputs = outputs.iter().enumerate().map(keep).collect();
            self.kept().push((op.name(), outputs));
        }
        Ok(outputs)
    }
}

/// Value `index` of those that `level` saves in a region.
struct Promise {
    region: Arc<Region>,
    level: u64,
    index: usize,
}

impl Packed for Promise {
    fn unpack(&self) -> Result<Tensor, Error> {
        self.region.value(self.level, self.index, self.level)
    }

    fn unpack_input(&self, level: u64) -> Result<Tensor, Error> {
        self.region.value(self.level, self.index, level)
    }
}

/// Restores an input of a region; the values that `level` saves around it will be needed next.
fn restore_input(input: &Saved, level: u64) -> Result<Tensor, Error> {
    match input {
        Saved::Held(value) => Ok(Tensor::from(value.clone())),
        Saved::Linked(tensor) => Ok((**tensor).clone()),
        Saved::Packed(packed) => packed.unpack_input(level),
        Saved::Nothing | Saved::Shape(_) => unreachable!("inputs are values"),
    }
}

/// An input behind a barrier if it may be staged: a program must not merge the second run with the first.
fn behind_barrier(input: Tensor) -> Tensor {
    match input.value {
        Value::Tracer(_) => bind1(&BARRIER, Attrs::new(), &[&input]),
        _ => input,
    }
}

/// The second run of a function: collects the values that one level saves, and the inputs of nested regions.
struct Again {
    /// Levels and their promises; see [`List`].
    wanted: [(u64, Vec<Calls>); 2],
    /// Values saved by other levels are promised anew.
    below: Arc<Region>,
    found: Mutex<[Found; 2]>,
    /// The number of calls so far that are not made again.
    kept: AtomicUsize,
}

/// The values that one level has saved in the second run.
#[derive(Default)]
struct Found {
    values: Vec<Tensor>,
    calls: Calls,
    /// For each value, the calls made before it was saved, and where that was.
    saved_after: Vec<(Calls, Place)>,
}

/// Everything promised is available: the rest of the function need not run.
struct Complete;

impl Again {
    fn found(&self) -> MutexGuard<'_, [Found; 2]> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, level: u64) -> Option<usize> {
        self.wanted.iter().position(|(wanted, _)| *wanted == level)
    }

    fn add(&self, place: usize, value: &Tensor, saved_at: Place) {
        let value = if self.wanted[place].0 == 0 { value.plain() } else { Tensor { slot: None, ..value.clone() } };
        let found = &mut self.found()[place];
        found.values.push(value);
        found.saved_after.push((found.calls, saved_at));
    }

    fn end_if_complete(&self) {
        let complete =
            self.wanted.iter().zip(&*self.found()).all(|((_, promised), found)| found.values.len() >= promised.len());
        // If panics abort the process, the function runs to its end.
        if complete && cfg!(panic = "unwind") {
            resume_unwind(Box::new(Complete));
        }
    }
}

impl Saver for Again {
    fn save(self: Arc<Again>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
        if is_worth_nothing(value) {
            return Saved::keep(value);
        }
        if let Some(place) = self.place(level) {
            self.add(place, value, Place::of(purpose));
            if level != INPUTS {
                self.end_if_complete();
                return Saved::Nothing;
            }
        }
        self.below.clone().save(level, value, purpose)
    }

    fn runs_again(&self) -> bool {
        true
    }

    fn keeps(&self, call: (&'static dyn Primitive, &Attrs)) -> bool {
        self.below.keeps(call)
    }

    fn once(
        &self,
        level: u64,
        (op, attrs): (&'static dyn Primitive, &Attrs),
        run: &mut Run<'_>,
    ) -> Result<Outputs, Error> {
        if level > self.below.newest || !(op.effect(attrs) || self.keeps((op, attrs))) {
            return run();
        }
        let kept = self.below.kept().get(self.kept.fetch_add(1, Ordering::Relaxed)).cloned();
        match kept.filter(|(kept, _)| *kept == op.name()) {
            Some((_, outputs)) => {
                let restore = |output: &Saved| restore_input(output, self.wanted[0].0).map(behind_barrier);
                outputs.iter().map(restore).collect()
            }
            None => {
                let name = op.name();
                let why = if op.effect(attrs) { "has an effect" } else { "is kept" };
                Err(self.below.changed(&format!("it called '{name}', which {why}, where it did not before")))
            }
        }
    }

    fn expect(&self, level: u64, call: (&'static str, &Attrs), operands: &[&Tensor], saves: Saves) {
        let Some(place) = self.place(level) else { return self.below.expect(level, call, operands, saves) };
        self.found()[place].calls.add(call);
        if !saves.outputs.is_empty() || saves.residual {
            return;
        }
        let operands = saves.operands.iter().map(|position| (position, operands[position]));
        let operands: Vec<(usize, &Tensor)> = operands.filter(|(_, operand)| !is_worth_nothing(operand)).collect();
        let before = self.found()[place].values.len();
        if before + operands.len() == self.wanted[place].1.len() && !operands.is_empty() {
            let add = |(position, operand)| self.add(place, operand, Place::operand(call.0, position));
            operands.into_iter().for_each(add);
            self.end_if_complete();
            // Inputs of a later region are still missing: the call saves its operands itself.
            let found = &mut self.found()[place];
            found.values.truncate(before);
            found.saved_after.truncate(before);
        }
    }
}
