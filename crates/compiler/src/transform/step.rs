//! Staged functions that update a state, such as training steps.

use super::SignatureSummary;
use super::staged::{Cache, Pair, Slots, Staged};
use crate::autograd::modes::records_tape;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::plan::{Place, PlanSummary};
use crate::program::{Precision, Program};
use crate::{Error, ErrorKind, Tensor, Tree};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A function that updates a state, traced once for each signature of state and input.
pub struct CompiledStep<S, X, Y, F> {
    function: F,
    pub(super) line: Line,
    cache: Cache<S, Y>,
    input: std::marker::PhantomData<fn(&X)>,
}

/// Stages a function that updates a state: parameters, moments, running means. Like [`compile`](super::compile), but the tensors of the
/// state are updated in place if they are not shared. They must not require gradients: `grad` inside the function differentiates them anyway.
///
/// ```
/// use wengert::prelude::*;
/// let step = compile_step(|w: &mut Tensor, x: &Tensor| {
///     let (loss, slope) = value_and_grad(|w: &Tensor| (w * x - 6.0).square())(w);
///     *w -= slope * 0.05;
///     loss
/// });
/// let (mut w, x) = (Tensor::from(0.0), Tensor::from(2.0));
/// assert_eq!(step.call(&mut w, &x).item(), 36.0);
/// for _ in 0..40 {
///     step.call(&mut w, &x);
/// }
/// assert!((w.item() - 3.0).abs() < 1e-6);
/// ```
#[track_caller]
pub fn compile_step<S: Tree, X: Tree, Y: Tree, F: Fn(&mut S, &X) -> Y>(f: F) -> CompiledStep<S, X, Y, F> {
    let line = location::resolve(Line::caller());
    CompiledStep { function: f, line, cache: Cache::new(), input: std::marker::PhantomData }
}

impl<S: Tree, X: Tree, Y: Tree, F: Fn(&mut S, &X) -> Y> CompiledStep<S, X, Y, F> {
    /// Updates the state and returns the result of the function.
    #[track_caller]
    pub fn call(&self, state: &mut S, x: &X) -> Y {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.staged(state, x);
        let mut slots = staged.take();
        let result = run(&staged, state, x, &mut slots, line);
        let y = result.map(|()| staged.output.rebuild(slots.outputs.drain(..)));
        staged.give(slots);
        y.map_err(|error| error.at(line)).or_raise()
    }

    /// Updates the state and writes the result of the function to `y`. Apart from the first call, nothing is allocated.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let step = compile_step(|count: &mut Tensor, x: &Tensor| {
    ///     *count += 1.0;
    ///     x * &*count
    /// });
    /// let (mut count, mut y) = (Tensor::from(0.0), Tensor::from(0.0));
    /// step.call_into(&mut count, &Tensor::from(5.0), &mut y);
    /// step.call_into(&mut count, &Tensor::from(5.0), &mut y);
    /// assert_eq!((count.item(), y.item()), (2.0, 10.0));
    /// ```
    #[track_caller]
    pub fn call_into(&self, state: &mut S, x: &X, y: &mut Y) {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.staged(state, x);
        let mut slots = staged.take();
        slots.take_output(y);
        let result = run(&staged, state, x, &mut slots, line);
        match result {
            Ok(()) => staged.put_output(y, &mut slots),
            Err(_) => Staged::<S, Y>::leave_output(y, &mut slots),
        }
        staged.give(slots);
        result.map_err(|error| error.at(line)).or_raise();
    }

    /// The program for this signature. It maps the leaves of state and input to those of the new state and of the function's result.
    #[track_caller]
    pub fn program(&self, state: &S, x: &X) -> Program {
        let _scope = location::scope(location::resolve(Line::caller()));
        self.staged(state, x).program()
    }

    /// How the program for this signature runs on concrete tensors: its kernels and the memory that they need.
    #[track_caller]
    pub fn plan(&self, state: &S, x: &X) -> PlanSummary {
        let _scope = location::scope(location::resolve(Line::caller()));
        self.staged(state, x).summary()
    }

    /// The plan with the time of each kernel, averaged over `calls` calls; these calls update the state.
    #[track_caller]
    pub fn profile(&self, state: &mut S, x: &X, calls: usize) -> PlanSummary {
        let mut y = self.call(state, x);
        self.staged(state, x).profile(calls, &mut || self.call_into(state, x, &mut y))
    }

    /// Traces every signature twice and compares the programs, like [`Compiled::checked`](super::Compiled::checked).
    #[must_use]
    pub fn checked(mut self) -> Self {
        self.cache.checks = true;
        self
    }

    /// Keeps the programs of at most `signatures` signatures (default 64), and drops the least recently used one.
    #[must_use]
    #[track_caller]
    pub fn at_most(mut self, signatures: usize) -> Self {
        self.cache.bound(signatures, location::resolve(Line::caller()));
        self
    }

    /// Limits the memory of a call to this many bytes, including the state, like [`Compiled::within`](super::Compiled::within).
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Self {
        self.cache.plan(|planning| planning.options.budget = Some(bytes));
        self
    }

    /// How many digits products and attention keep, like [`Compiled::precision`](super::Compiled::precision); parameters keep theirs.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.cache.plan(|planning| planning.options.precision = precision);
        self
    }

    /// Runs on a device, like [`Compiled::on`](super::Compiled::on); a state stays there from the first call on.
    #[must_use]
    #[track_caller]
    pub fn on(mut self, place: impl Place) -> Self {
        let line = location::resolve(Line::caller());
        let backend = place.backend().map_err(|error| error.at(line)).or_raise();
        self.cache.plan(|planning| planning.backend = backend);
        self
    }

    /// Runs operations that the device does not have on the CPU, like
    /// [`Compiled::with_host_fallback`](super::Compiled::with_host_fallback). What the device computes of the state is updated in place, unless
    /// another part reads the old or the new value later.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let step = compile_step(|w: &mut Tensor, x: &Tensor| *w += x.det()).with_host_fallback();
    /// let (mut w, x) = (Tensor::from([1.0, 2.0]), Tensor::from([[2.0, 0.0], [0.0, 3.0]]));
    /// step.call(&mut w, &x);
    /// assert_eq!(w, Tensor::from([7.0, 8.0]));
    /// ```
    #[must_use]
    pub fn with_host_fallback(mut self) -> Self {
        self.cache.plan(|planning| planning.options.falls_back = true);
        self
    }

    /// A summary of every cached signature and what was built for it, most recently used first.
    pub fn inspect(&self) -> Vec<SignatureSummary> {
        self.cache.inspect()
    }

    /// The number of cached signatures.
    pub fn signatures(&self) -> usize {
        self.cache.len()
    }

    pub(super) fn staged(&self, state: &S, x: &X) -> Arc<Staged<S, Y>> {
        self.cache.get(&Pair(state, x), self.line, &|lift| {
            let (mut state, x) = (state.map_leaves(&mut *lift), x.map_leaves(lift));
            let y = (self.function)(&mut state, &x);
            (state, y)
        })
    }
}

/// Updates the state; the results are left in the slots. The state gets its tensors back in any case.
fn run<S: Tree, Y: Tree>(
    staged: &Staged<S, Y>,
    state: &mut S,
    x: &impl Tree,
    slots: &mut Slots,
    line: Line,
) -> Result<(), Error> {
    slots.take_state(state);
    let updated = slots.inputs.len();
    if records_tape() && slots.inputs.iter().any(requires_own_gradient) {
        staged.put_state(state, slots);
        return Err(leaf_in_state(state));
    }
    slots.read(x);
    staged.read_captured(slots);
    if staged.runs_on_numbers(&slots.inputs) {
        let result = catch_unwind(AssertUnwindSafe(|| staged.run(slots, line)));
        staged.put_state(state, slots);
        return result.unwrap_or_else(|payload| resume_unwind(payload));
    }
    let result = catch_unwind(AssertUnwindSafe(|| staged.bind(&slots.inputs, line)));
    staged.put_state(state, slots);
    let mut results = result.unwrap_or_else(|payload| resume_unwind(payload))?;
    slots.outputs.clear();
    slots.outputs.extend(results.drain(updated..));
    *state = staged.state.rebuild(results);
    Ok(())
}

/// Whether it is a leaf of the tape.
fn requires_own_gradient(tensor: &Tensor) -> bool {
    tensor.requires_grad() && tensor.is_leaf()
}

/// Each step would record its update of the leaf, and the tape would grow from step to step.
fn leaf_in_state(state: &impl Tree) -> Error {
    let leaves = state.named_leaves();
    let path = leaves.iter().find(|(_, leaf)| requires_own_gradient(leaf)).map_or("", |(path, _)| path);
    let at = if path.is_empty() { String::new() } else { format!(", but '{path}' does") };
    Error::new(
        ErrorKind::Argument,
        "compile_step",
        format!("the state of a compiled step must not require gradients{at}"),
    )
    .help("detach it: grad inside the step differentiates it anyway")
}
