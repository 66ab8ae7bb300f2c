//! The times of operations, while they are asked for.

use super::modes;
use crate::Tensor;
use crate::location::{self, Line};
use crate::primitive::{Attrs, Cost, Gradient, Primitive, Spec, SpecRef};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};
use wengert_kernels::pool;

/// One call of an operation on numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The name of the operation; `slopes` for cotangents that are multiplied by several slopes in one pass.
    pub operation: &'static str,
    /// In a backward pass: the operation whose rule made the call, if it is known.
    pub rule_of: Option<&'static str>,
    /// Whether it belongs to a backward pass.
    pub is_backward: bool,
    /// The line of user code, in a backward pass that of the forward operation.
    pub line: Line,
    /// The time between the beginning of the recording and that of the call.
    pub start: Duration,
    /// The duration of the call, with that of its record.
    pub duration: Duration,
    /// The arithmetic, and the memory traffic.
    pub cost: Cost,
    /// The bytes of the results.
    pub bytes: usize,
    /// The bytes of all tensors when the call began.
    pub live_before: usize,
    /// The bytes of all tensors when it had ended.
    pub live_after: usize,
}

thread_local! {
    static TIMINGS: RefCell<Vec<Timing>> = const { RefCell::new(Vec::new()) };
    /// The beginning of the recording.
    static BEGINNING: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Whether a call is being timed. What it calls belongs to it.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The operation whose rule runs.
    static RULE_OF: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Runs `f` and returns its result and the operations that ran on numbers on this thread, in order.
///
/// ```
/// use wengert::{autograd::record_times, prelude::*};
/// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
/// let (_, times) = record_times(|| x.sin().square().sum().backward());
/// let names: Vec<&str> = times.iter().filter(|time| !time.is_backward).map(|time| time.operation).collect();
/// assert_eq!(names, ["sin", "square", "sum"]);
/// assert!(times.iter().any(|time| time.rule_of == Some("sin")));
/// ```
pub fn record_times<R>(f: impl FnOnce() -> R) -> (R, Vec<Timing>) {
    let (outer, beginning) = (TIMINGS.take(), BEGINNING.replace(Some(Instant::now())));
    let result = modes::with_times(f);
    BEGINNING.set(beginning);
    (result, TIMINGS.replace(outer))
}

/// A rule that runs: when it began, and the number of timings before.
pub struct RunningRule {
    began: Beginning,
    before: usize,
}

/// When a call began, and the bytes of all tensors then.
#[derive(Clone, Copy)]
struct Beginning {
    time: Instant,
    live: usize,
}

impl Beginning {
    fn now() -> Beginning {
        Beginning { time: Instant::now(), live: live() }
    }
}

fn live() -> usize {
    pool::statistics().live_bytes
}

/// Names the operation whose rule runs next on this thread, if times are asked for. What times is out of the way of the sweep.
#[inline]
pub fn enter_rule(op: &'static dyn Primitive) -> Option<Box<RunningRule>> {
    if modes::records_times() { RunningRule::of(op) } else { None }
}

impl RunningRule {
    #[cold]
    fn of(op: &'static dyn Primitive) -> Option<Box<RunningRule>> {
        if INSIDE.get() {
            return None;
        }
        RULE_OF.set(Some(op.name()));
        Some(Box::new(RunningRule { before: TIMINGS.with_borrow(Vec::len), began: Beginning::now() }))
    }

    /// Records the rule itself if it made no call: elementwise rules multiply by slopes directly.
    #[cold]
    pub fn leave(&self, gradients: &[Gradient]) {
        let RunningRule { began, before } = *self;
        if TIMINGS.with_borrow(Vec::len) == before {
            let bytes = gradients.iter().map(|gradient| match gradient {
                Gradient::Dense(gradient) => gradient.spec().bytes(),
                Gradient::Zero | Gradient::Patch(_) => 0,
            });
            let elements = gradients.iter().map(|gradient| match gradient {
                Gradient::Dense(gradient) => gradient.elements(),
                Gradient::Zero | Gradient::Patch(_) => 0,
            });
            let (bytes, elements): (usize, usize) = (bytes.sum(), elements.sum());
            // The cotangent and a saved value are read, the gradient is written.
            let cost = Cost { flops: 2.0 * elements as f64, bytes: 3.0 * bytes as f64 };
            push("slope", RULE_OF.get(), Line::caller(), began, cost, bytes);
        }
    }
}

/// A call that is being timed. What it calls belongs to it.
pub struct Clock {
    operation: &'static str,
    line: Line,
    work: Work,
    began: Beginning,
}

/// What the cost of a call follows from.
enum Work {
    Call { op: &'static dyn Primitive, attrs: Attrs, operands: SmallVec<[Spec; 4]> },
    Slopes { factors: usize, spec: Spec },
}

/// Starts to time a call on numbers, if times are asked for and no other call is being timed.
#[inline]
pub fn start<'t>(
    op: &'static dyn Primitive,
    attrs: &Attrs,
    operands: impl Iterator<Item = &'t Tensor>,
    line: Line,
) -> Option<Box<Clock>> {
    let is_asked = modes::records_times() && !INSIDE.get();
    // The call may consume its operands.
    let work = || Work::Call { op, attrs: attrs.clone(), operands: operands.map(Tensor::spec).collect() };
    if is_asked { Some(Clock::start(op.name(), line, work())) } else { None }
}

/// Starts to time a multiplication of cotangents by slopes, which belongs to several operations.
#[inline]
pub fn start_slopes(factors: usize, cotangent: &Tensor) -> Option<Box<Clock>> {
    let is_asked = modes::records_times() && !INSIDE.get();
    let work = || Work::Slopes { factors, spec: cotangent.spec() };
    if is_asked { Some(Clock::start("slopes", Line::caller(), work())) } else { None }
}

impl Clock {
    #[cold]
    fn start(operation: &'static str, line: Line, work: Work) -> Box<Clock> {
        INSIDE.set(true);
        Box::new(Clock { operation, line, work, began: Beginning::now() })
    }

    /// Records the time until now, for a call with these results.
    pub fn stop(self: Box<Self>, outputs: &[Tensor]) {
        let outputs: SmallVec<[Spec; 2]> = outputs.iter().map(Tensor::spec).collect();
        let (cost, rule_of) = match &self.work {
            Work::Call { op, attrs, operands } => {
                let operands: SmallVec<[SpecRef<'_>; 4]> = operands.iter().map(Spec::as_ref).collect();
                (op.cost(attrs, &operands, &outputs), RULE_OF.get().filter(|_| location::is_inherited()))
            }
            Work::Slopes { factors, spec } => {
                let (elements, bytes) = (spec.shape.elements() as f64, spec.bytes() as f64);
                (Cost { flops: elements * *factors as f64, bytes: bytes * (factors + 2) as f64 }, None)
            }
        };
        let bytes = outputs.iter().map(Spec::bytes).sum();
        push(self.operation, rule_of, self.line, self.began, cost, bytes);
    }
}

/// Records a call that began then and ends now.
fn push(
    operation: &'static str,
    rule_of: Option<&'static str>,
    line: Line,
    began: Beginning,
    cost: Cost,
    bytes: usize,
) {
    let timing = Timing {
        operation,
        rule_of,
        is_backward: location::is_inherited(),
        line: location::shown(location::resolve(line)),
        start: BEGINNING.get().map_or(Duration::ZERO, |beginning| began.time.duration_since(beginning)),
        duration: began.time.elapsed(),
        cost,
        bytes,
        live_before: began.live,
        live_after: live(),
    };
    TIMINGS.with_borrow_mut(|timings| timings.push(timing));
}

impl Drop for Clock {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}
