//! A cache of programs by signature.

use super::cache::{History, KEPT, Planned, Record, SignatureSummary};
use super::captured::Captured;
use super::twice;
use crate::autograd::modes::{detects_anomalies, is_packing, is_tracing, records_tape, records_values, tracing};
use crate::control::call::{call, pullback};
use crate::error::OrRaise;
use crate::location::Line;
use crate::plan::{Backend, Cpu, Input, Options, PlanSummary, Runner, prepare};
use crate::primitive::{Device, Spec};
use crate::program::{Program, ProgramAttr, Split, hoisted, recaptured, stage};
use crate::tensor::Value;
use crate::tree::difference;
use crate::{DType, Error, ErrorKind, Tensor, Tree, TreePath};
use std::cell::Cell;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use wengert_kernels::pool;

/// The paths of a tree's leaves, and everything else in which two trees of its type can differ.
struct Structure(Vec<(String, String)>);

impl Structure {
    /// Whether `x` has this structure; does not allocate.
    fn is_of(&self, x: &dyn Inputs, path: &mut TreePath) -> bool {
        let (mut words, mut same) = (self.0.iter(), true);
        x.describe(path, &mut |path, word| {
            same = same && words.next().is_some_and(|(at, known)| at == path.as_str() && known == word);
        });
        same && words.next().is_none()
    }
}

/// Determines whether a traced program can be reused: structure, static fields, shapes and dtypes.
struct Signature {
    structure: Structure,
    specs: Vec<Spec>,
}

impl Signature {
    fn of(x: &dyn Inputs) -> Signature {
        let (mut structure, mut specs) = (Vec::new(), Vec::new());
        x.describe(&mut TreePath::root(), &mut |path, word| structure.push((path.to_string(), word.to_string())));
        x.visit(&mut TreePath::root(), &mut |_, leaf| specs.push(leaf.spec()));
        Signature { structure: Structure(structure), specs }
    }

    /// Whether `x` has this signature; does not allocate.
    fn is_of(&self, x: &dyn Inputs, path: &mut TreePath) -> bool {
        let (mut specs, mut same) = (self.specs.iter(), true);
        let is_next = |specs: &mut std::slice::Iter<'_, Spec>, leaf: &Tensor| {
            specs.next().is_some_and(|spec| spec.as_ref() == leaf.value.spec_ref())
        };
        path.quietly(|path| x.visit(path, &mut |_, leaf| same = same && is_next(&mut specs, leaf)));
        same && specs.next().is_none() && self.structure.is_of(x, path)
    }
}

/// The inputs of a call: one tree, or a state and an input.
pub(super) trait Inputs {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor));
    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str));
}

/// A state and an input by reference.
pub(super) struct Pair<'t, S, X>(pub &'t S, pub &'t X);

impl<S: Tree, X: Tree> Inputs for Pair<'_, S, X> {
    fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
        path.within("state", |path| self.0.visit(path, f));
        self.1.visit(path, f);
    }

    fn describe(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &str)) {
        path.within("state", |path| self.0.describe(path, f));
        self.1.describe(path, f);
    }
}

/// The program of one signature, and the trees that it returns; for a function without state, `S` is `()`.
pub(super) struct Staged<S, Y> {
    code: Code,
    /// Trees with the structures of the new state and of the result; their leaves are replaced.
    pub state: S,
    pub output: Y,
}

/// The program of one signature. All that does not depend on the types of trees is here, so that it is compiled once.
pub(super) struct Code {
    signature: Signature,
    program: Program,
    /// The same program with captured leaves and tensors of transforms as additional inputs after its own.
    body: ProgramAttr,
    captured: Vec<Captured>,
    /// How it runs on concrete tensors, built on first use: the plan summary, and the runner.
    plan: OnceLock<(PlanSummary, Box<dyn Runner>)>,
    planning: Planning,
    /// The input that each output updates: the one with the same index.
    updates: Vec<Option<usize>>,
    state_structure: Structure,
    output_structure: Structure,
    slots: Mutex<Vec<Slots>>,
    record: Record,
}

/// Storage for the tensors of one call, reused between calls.
#[derive(Default)]
pub(super) struct Slots {
    pub path: TreePath,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

impl Slots {
    /// Reads the leaves of an input.
    pub fn read(&mut self, x: &impl Tree) {
        let Slots { path, inputs, .. } = self;
        path.quietly(|path| x.visit(path, &mut |_, leaf| inputs.push(leaf.clone())));
    }

    /// Moves the leaves out of a state, leaving placeholder numbers.
    pub fn take_state(&mut self, state: &mut impl Tree) {
        let Slots { path, inputs, .. } = self;
        let mut take = |_: &TreePath, leaf: &mut Tensor| {
            let value = std::mem::replace(&mut leaf.value, Tensor::one(0, DType::F64, 0).value);
            inputs.push(Tensor { value, link: leaf.link.clone(), slot: None });
        };
        path.quietly(|path| state.visit_mut(path, &mut take));
    }

    /// Moves the leaves out of an output that is about to be overwritten.
    pub fn take_output(&mut self, y: &mut impl Tree) {
        let Slots { path, outputs, .. } = self;
        let mut take = |_: &TreePath, leaf: &mut Tensor| {
            outputs.push(std::mem::replace(leaf, Tensor::one(0, DType::F64, 0)));
        };
        path.quietly(|path| y.visit_mut(path, &mut take));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether no transform or tape records operations on a tensor.
fn is_number(tensor: &Tensor) -> bool {
    !matches!(tensor.value, Value::Tracer(_)) && (tensor.link.is_none() || !records_tape())
}

impl<S, Y> Deref for Staged<S, Y> {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl Code {
    /// A program whose first outputs are the leaves of the new state, with these names.
    fn new(
        signature: Signature,
        program: Program,
        names: Vec<String>,
        [state_structure, output_structure]: [Structure; 2],
        planning: Planning,
        record: Record,
    ) -> Result<Code, Error> {
        for (i, name) in names.iter().enumerate() {
            let (old, new) = (program.spec(program.inputs()[i]), program.spec(program.outputs()[i]));
            if old != new {
                let message = format!("the state's leaf '{name}' was {old} and becomes {new}");
                return Err(
                    Error::new(ErrorKind::Tree, "compile_step", message).help("a state keeps its shapes and dtypes")
                );
            }
        }
        let (body, captured) = hoisted(program.clone());
        Ok(Code {
            signature,
            plan: OnceLock::new(),
            updates: (0..program.outputs().len()).map(|i| Some(i).filter(|i| *i < names.len())).collect(),
            body: ProgramAttr::from(body).limited(planning.options.budget).falling_back(planning.options.falls_back),
            captured: captured.into_iter().map(Captured::new).collect(),
            program,
            state_structure,
            output_structure,
            slots: Mutex::default(),
            record,
            planning,
        })
    }

    /// How it runs on concrete tensors: the optimised program, planned.
    fn plan(&self) -> Result<&(PlanSummary, Box<dyn Runner>), Error> {
        if let Some(known) = self.plan.get() {
            return Ok(known);
        }
        let start = Instant::now();
        let Planning { backend, options } = &self.planning;
        let (summary, runner) = prepare(self.body.optimised(), self.updates.clone(), &**backend, options)?;
        let (kernels, workspace_bytes) = (summary.kernels(), summary.workspace_bytes());
        let equations = summary.program().equations().len();
        let planned = Planned { time: start.elapsed(), equations, kernels, workspace_bytes };
        Ok(self.plan.get_or_init(|| {
            self.record.planned(self.program.equations().len(), planned);
            (summary, runner)
        }))
    }

    /// The program as it was traced, with the current values of captured leaves.
    pub fn program(&self) -> Program {
        recaptured(self.program.clone(), self.captured.iter().map(Captured::now))
    }

    /// A summary of the signature and of what was built for it.
    fn inspect(&self) -> SignatureSummary {
        let Signature { structure, specs } = &self.signature;
        self.record.summary(&structure.0, specs, self.program.equations().len())
    }

    #[track_caller]
    pub fn summary(&self) -> PlanSummary {
        self.plan().or_raise().0.clone()
    }

    /// The plan with the times of its kernels in `calls` calls.
    #[track_caller]
    pub fn profile(&self, calls: usize, call: &mut dyn FnMut()) -> PlanSummary {
        let (summary, runner) = self.plan().or_raise();
        runner.watch();
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        let wall = start.elapsed();
        summary.clone().with_times(&runner.take_times(), wall, calls)
    }

    pub fn take(&self) -> Slots {
        self.record.called();
        lock(&self.slots).pop().unwrap_or_default()
    }

    pub fn give(&self, mut slots: Slots) {
        slots.inputs.clear();
        slots.outputs.clear();
        lock(&self.slots).push(slots);
    }

    /// Whether a call on these inputs can run as a plan: all are concrete tensors, and nothing observes single operations.
    pub fn runs_on_numbers(&self, inputs: &[Tensor]) -> bool {
        // An enclosing checkpoint keeps the results of a call with an effect.
        let is_kept = is_packing() && self.body.has_effect();
        inputs.iter().all(is_number) && !detects_anomalies() && !is_kept
    }

    /// The outputs for the inputs in the slots.
    pub fn outputs(&self, slots: &mut Slots, line: Line) -> Result<Vec<Tensor>, Error> {
        self.read_captured(slots);
        match self.runs_on_numbers(&slots.inputs) {
            true => self.run(slots, line).map(|()| std::mem::take(&mut slots.outputs)),
            false => self.bind(&slots.inputs, line),
        }
    }

    /// Adds the captured tensors after the inputs.
    pub fn read_captured(&self, slots: &mut Slots) {
        slots.inputs.extend(self.captured.iter().map(Captured::now));
    }

    /// The outputs for tensors of a transform: a single call, which is differentiated and batched as a whole. If single operations are
    /// observed, and inside another trace, its equations are bound one by one.
    pub fn bind(&self, inputs: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        match is_tracing() || detects_anomalies() || records_values() {
            true => self.body.evaluate_at(inputs, line),
            false => {
                self.expect_device(inputs)?;
                call(&self.body, inputs, line)
            }
        }
    }

    /// A call that is differentiated or batched as a whole runs where its operands are, which must be where the function was compiled for.
    fn expect_device(&self, inputs: &[Tensor]) -> Result<(), Error> {
        let own = self.planning.backend.device();
        let stays = |input: &&Tensor| !input.comes_along();
        let device = |input: &Tensor| input.innermost_device().filter(|device| *device != own);
        match inputs.iter().filter(stays).find_map(device) {
            Some(device) if own != Device::Cpu => {
                let message = format!("an operand of this call is on {device}, and the function runs on {own}");
                let help = format!("to(Device::{own:?}) copies a tensor there");
                Err(Error::new(ErrorKind::Device, "compile", message).help(help))
            }
            _ => Ok(()),
        }
    }

    /// The pullback of a call.
    pub fn pullback(&self) -> Split {
        pullback(&self.body)
    }

    /// Runs the plan. Updated inputs are overwritten in place if they are not shared. Outputs that are shared, or do not have the program's
    /// spec, are replaced.
    pub fn run(&self, slots: &mut Slots, line: Line) -> Result<(), Error> {
        within_memory(|| self.run_plan(slots, line))
    }

    fn run_plan(&self, slots: &mut Slots, line: Line) -> Result<(), Error> {
        let (_, runner) = self.plan()?;
        let updated = |number: usize| self.updates.get(number).is_some_and(Option::is_some);
        for (number, input) in slots.inputs.iter_mut().enumerate() {
            runner.admit(input, updated(number))?;
        }
        let fresh = self.program.outputs().iter().zip(&self.updates).filter(|(_, update)| update.is_none());
        slots.outputs.resize_with(fresh.clone().count(), || Tensor::one(0, DType::F64, 0));
        for ((var, _), output) in fresh.zip(&mut slots.outputs) {
            runner.prepare(output, self.program.spec(*var))?;
        }
        let mut inputs = slots.inputs.iter_mut().enumerate().map(|(number, input)| match updated(number) {
            true => Input::Update(input),
            false => Input::Read(input),
        });
        runner.run(&mut inputs, &mut slots.outputs.iter_mut(), line)
    }
}

impl<S: Tree, Y: Tree> Staged<S, Y> {
    /// Moves the results into `y`.
    pub fn put_output(&self, y: &mut Y, slots: &mut Slots) {
        let Slots { path, outputs, .. } = slots;
        let mut results = outputs.drain(..);
        let mut put = |_: &TreePath, leaf: &mut Tensor| *leaf = results.next().expect("as many results as leaves");
        match self.output_structure.is_of(&Pair(&(), &*y), path) {
            true => path.quietly(|path| y.visit_mut(path, &mut put)),
            false => *y = self.output.rebuild(results),
        }
    }

    /// After a failed call: `y` gets its leaves back, whatever was written to them.
    pub fn leave_output(y: &mut Y, slots: &mut Slots) {
        let Slots { path, outputs, .. } = slots;
        let mut leaves = outputs.drain(..);
        y.visit_mut(path, &mut |_, leaf| {
            if let Some(old) = leaves.next() {
                *leaf = old;
            }
        });
    }

    /// Moves the first inputs, which were updated, into the state.
    pub fn put_state(&self, state: &mut S, slots: &mut Slots) {
        let Slots { path, inputs, .. } = slots;
        let mut updated = inputs.drain(..);
        match self.state_structure.is_of(&Pair(&(), &*state), path) {
            true => {
                let mut put = |_: &TreePath, leaf: &mut Tensor| {
                    leaf.replace_leaf_value(updated.next().expect("as many inputs as leaves").value);
                };
                path.quietly(|path| state.visit_mut(path, &mut put));
            }
            false => {
                let count = self.state.leaves().len();
                *state = self.state.rebuild(updated.take(count));
            }
        }
    }

    /// Raises an error if the function does something else when it is traced again.
    fn expect_same(&self, again: &Staged<S, Y>, line: Line) {
        if let Some(error) = twice::difference(&self.program, &again.program) {
            error.at(line).raise();
        }
        let state = difference(&self.state, &again.state).map(|text| format!("the state at {text}"));
        if let Some(text) = state.or_else(|| difference(&self.output, &again.output)) {
            let message =
                format!("the function returns another structure when it is traced again, here on the right: {text}");
            Error::new(ErrorKind::Retraced, "compile", message).at(line).raise();
        }
    }
}

/// Runs a plan; running out of memory is an error.
pub(super) fn within_memory<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    pool::attempt(run).unwrap_or_else(|refused| Err(Error::out_of_memory("compile", "a call of the program", refused)))
}

/// Options for planning.
#[derive(Clone)]
pub(super) struct Planning {
    /// The backend that runs it.
    pub backend: Arc<dyn Backend>,
    /// Budget, precision, and whether it falls back to the CPU.
    pub options: Options,
}

/// Traced programs, most recently used first.
pub(super) struct Cache<S, Y> {
    staged: Mutex<Vec<Arc<Staged<S, Y>>>>,
    /// The maximum number of programs kept.
    pub limit: usize,
    /// Whether functions are traced twice and both programs compared.
    pub checks: bool,
    pub planning: Planning,
    history: Mutex<History>,
}

/// Turns a tensor of an input into one of a trace.
pub(super) type Lift<'a> = &'a mut dyn FnMut(&Tensor) -> Tensor;

impl<S: Tree, Y: Tree> Cache<S, Y> {
    pub fn new() -> Cache<S, Y> {
        Cache {
            staged: Mutex::default(),
            limit: KEPT,
            checks: twice::is_asked(),
            planning: Planning { backend: Arc::new(Cpu), options: Options::default() },
            history: Mutex::default(),
        }
    }

    pub fn len(&self) -> usize {
        lock(&self.staged).len()
    }

    /// Changes how programs are planned; those that were planned before are dropped.
    pub fn plan(&mut self, change: impl FnOnce(&mut Planning)) {
        change(&mut self.planning);
        lock(&self.staged).clear();
    }

    /// A summary of every signature, most recently used first.
    pub fn inspect(&self) -> Vec<SignatureSummary> {
        lock(&self.staged).iter().map(|staged| staged.inspect()).collect()
    }

    /// Limits the number of signatures.
    pub fn bound(&mut self, limit: usize, line: Line) {
        if limit == 0 {
            let message = "a cache of no programs would trace at every call";
            Error::new(ErrorKind::Argument, "at_most", message).help("keep at least one").at(line).raise();
        }
        self.limit = limit;
    }

    /// The program for `x`, traced from `f` unless it is cached.
    pub fn get(&self, x: &dyn Inputs, line: Line, f: &dyn Fn(Lift<'_>) -> (S, Y)) -> Arc<Staged<S, Y>> {
        if let Some(staged) = find(&mut lock(&self.staged), x) {
            return staged;
        }
        let staged = Arc::new(trace(Signature::of(x), line, self.planning.clone(), f));
        if self.checks {
            staged.expect_same(&trace(Signature::of(x), line, self.planning.clone(), f), line);
        }
        // A program that captured a tensor of a running transform, or one computed from a leaf, is valid for this call only.
        let reusable = |tensor: &Tensor| !matches!(tensor.value, Value::Tracer(_)) && tensor.is_leaf();
        let kept = staged.program.captures().iter().all(|(_, tensor)| reusable(tensor));
        lock(&self.history).note(line, staged.inspect(), kept);
        if kept {
            let mut known = lock(&self.staged);
            // No lock is held while a function is traced, since it may call itself. So another thread may have been faster.
            if let Some(staged) = find(&mut known, x) {
                return staged;
            }
            known.insert(0, staged.clone());
            known.truncate(self.limit);
        }
        staged
    }
}

/// The cached program for `x`, which is moved to the front.
fn find<S, Y>(known: &mut Vec<Arc<Staged<S, Y>>>, x: &dyn Inputs) -> Option<Arc<Staged<S, Y>>> {
    // While a thread ends, nothing is kept.
    let mut path = PATH.try_with(Cell::take).unwrap_or_default();
    let place = known.iter().position(|staged| staged.signature.is_of(x, &mut path));
    let _ = PATH.try_with(|kept| kept.set(path));
    let place = place?;
    if !known[place].captured.iter().all(Captured::is_known) {
        known.remove(place);
        return None;
    }
    known[..=place].rotate_right(1);
    Some(known[0].clone())
}

thread_local! {
    /// Storage for paths, reused between calls.
    static PATH: Cell<TreePath> = Cell::default();
}

fn trace<S: Tree, Y: Tree>(
    signature: Signature,
    line: Line,
    planning: Planning,
    f: &dyn Fn(Lift<'_>) -> (S, Y),
) -> Staged<S, Y> {
    let start = Instant::now();
    let mut trees = None;
    let program = program_of(line, &signature.specs, &mut |lift| {
        let (state, output) = trees.insert(f(lift));
        state.leaves().into_iter().chain(output.leaves()).cloned().collect()
    });
    let (state, output) = trees.expect("the function has been traced");
    let program = program.at_precision(planning.options.precision);
    let structures = [state.structure(), output.structure()].map(Structure);
    let names = state.named_leaves().into_iter().map(|(name, _)| name).collect();
    let code = Code::new(signature, program, names, structures, planning, Record::new(line, start));
    Staged { code: code.map_err(|error| error.at(line)).or_raise(), state, output }
}

/// Traces a function that returns its leaves.
fn program_of(line: Line, specs: &[Spec], f: &mut dyn FnMut(Lift<'_>) -> Vec<Tensor>) -> Program {
    let (program, ()) = stage("compile", line, specs, |symbols| {
        let mut symbols = symbols.into_iter();
        (tracing(|| f(&mut |_| symbols.next().expect("one for each leaf"))), ())
    });
    program
}
