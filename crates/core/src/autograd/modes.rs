//! Modes of the current thread: stopped gradients, what is observed, the default dtype.

use crate::interp::Level;
use crate::location::{self, Line};
use crate::primitive::expect_float;
use crate::{DType, Tensor, error::OrRaise};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::thread::LocalKey;

/// No level is stopped: gradients are recorded everywhere.
const OPEN: u64 = u64::MAX;

/// Values, adjoints and contributions are recorded.
const VALUES: u8 = 1;
/// A NaN is an error.
const ANOMALIES: u8 = 2;
/// A [`Saver`](super::packing::Saver) decides how saved values are stored.
const PACKING: u8 = 4;
/// Operations through which no gradient passes are recorded.
const STOPS: u8 = 8;
/// The times of operations are recorded.
const TIMES: u8 = 16;

/// Holds a level while something runs. It has no destructor, so it can be used while a thread shuts down.
type Place = RefCell<ManuallyDrop<Option<Arc<Level>>>>;

thread_local! {
    /// Levels up to this one are stopped, unless it is [`OPEN`].
    static STOPPED: Cell<u64> = const { Cell::new(OPEN) };
    /// What observes operations: bits, so that a call without observers asks once.
    static OBSERVERS: Cell<u8> = const { Cell::new(0) };
    static TRACING: Cell<bool> = const { Cell::new(false) };
    /// The innermost program that is being built, and the program of the function that is being traced.
    static STAGED: Place = const { Place::new(ManuallyDrop::new(None)) };
    static TRACED: Place = const { Place::new(ManuallyDrop::new(None)) };
    /// Whether a checkpointed function is being rerun; the transforms around its first run may have ended.
    static REPLAYING: Cell<bool> = const { Cell::new(false) };
    /// The dtype of constructors that take none.
    static DEFAULT: Cell<DType> = const { Cell::new(DType::F64) };
    static GUARDED: RefCell<Vec<Guarded>> = const { RefCell::new(Vec::new()) };
    static STOPPED_AT: RefCell<Vec<GradientStop>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f`, which builds the program of this level.
pub fn staging<R>(level: &Arc<Level>, f: impl FnOnce() -> R) -> R {
    at_level(&STAGED, Some(level.clone()), f)
}

/// Runs a function that is being traced. Its operations on leaves become part of the program in any mode of the caller, because the program
/// outlives the call.
pub fn tracing<R>(f: impl FnOnce() -> R) -> R {
    let level = staged();
    at_level(&TRACED, level, || during(&TRACING, true, || enable_grad(f)))
}

/// The level of the innermost program that this thread builds.
pub fn staged() -> Option<Arc<Level>> {
    STAGED.with_borrow(|level| Option::clone(level))
}

/// The level of the function that this thread is tracing.
pub fn traced() -> Option<Arc<Level>> {
    if TRACING.get() { TRACED.with_borrow(|level| Option::clone(level)) } else { None }
}

fn at_level<R>(key: &'static LocalKey<Place>, level: Option<Arc<Level>>, f: impl FnOnce() -> R) -> R {
    struct Restore(&'static LocalKey<Place>, Option<Arc<Level>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            put(self.0, self.1.take());
        }
    }
    let _restore = Restore(key, put(key, level));
    f()
}

/// Sets the level and returns the previous one.
fn put(key: &'static LocalKey<Place>, level: Option<Arc<Level>>) -> Option<Arc<Level>> {
    ManuallyDrop::into_inner(key.replace(ManuallyDrop::new(level)))
}

/// Whether this thread is running a function that is being traced.
pub fn is_tracing() -> bool {
    TRACING.get()
}

/// The levels that are stopped now, to be restored by [`replaying`].
#[derive(Clone, Copy)]
pub struct Stopped(u64);

pub fn stopped() -> Stopped {
    Stopped(STOPPED.get())
}

/// Reruns a checkpointed function with the levels stopped as in its first run.
pub fn replaying<R>(stopped: Stopped, f: impl FnOnce() -> R) -> R {
    during(&REPLAYING, true, || during(&STOPPED, stopped.0, f))
}

/// Whether tensors of transforms that have ended may be used.
pub fn is_replaying() -> bool {
    REPLAYING.get()
}

/// Sets a thread-local for the duration of a call, and restores it even if the call panics.
fn during<T: Copy + 'static, R>(key: &'static LocalKey<Cell<T>>, value: T, f: impl FnOnce() -> R) -> R {
    struct Restore<T: Copy + 'static>(&'static LocalKey<Cell<T>>, T);
    impl<T: Copy + 'static> Drop for Restore<T> {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(key, key.replace(value));
    f()
}

/// Runs `f` without recording: nothing that it computes passes a gradient, in reverse or forward mode, at any level that is open now.
/// Transforms started inside `f` differentiate as usual.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from(2.0).require_grad();
/// let y = no_grad(|| &x * &x);
/// assert!(!y.requires_grad());
/// assert_eq!(no_grad(|| grad(|x: &Tensor| x * x)(&x)).item(), 4.0);
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    during(&STOPPED, Level::newest(), f)
}

/// Turns recording back on inside [`no_grad`].
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from(2.0).require_grad();
/// let y = no_grad(|| enable_grad(|| &x * &x));
/// assert!(y.requires_grad());
/// ```
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    during(&STOPPED, OPEN, f)
}

/// Runs `f` with another default dtype, used by constructors that take none: `zeros`, `ones`, `eye`, `linspace`, `logspace`, `arange` over
/// floats, `rand`, `randn`. Otherwise the default is f64. Typed data keeps its type: `Tensor::from([1.0])` is f64. Raises an error unless
/// the dtype is a floating-point type.
///
/// It holds for the current thread. A compiled function keeps the default that it was traced with.
///
/// ```
/// use wengert::prelude::*;
/// let layer = default_dtype(DType::F32, || (Tensor::randn([4, 3], 0) * 0.1, Tensor::zeros([4])));
/// assert_eq!((layer.0.dtype(), layer.1.dtype()), (DType::F32, DType::F32));
/// assert_eq!(Tensor::zeros([4]).dtype(), DType::F64);
/// ```
#[track_caller]
pub fn default_dtype<R>(dtype: DType, f: impl FnOnce() -> R) -> R {
    expect_float("default_dtype", dtype).or_raise();
    during(&DEFAULT, dtype, f)
}

/// While the result lives, errors are raised in the name of this function, which is made of other operations.
#[track_caller]
pub fn within(function: &'static str) -> location::Within {
    location::within(function, is_tracing())
}

/// The dtype of constructors that take none.
#[inline]
pub fn constructed() -> DType {
    DEFAULT.get()
}

/// Whether operations on leaves are recorded now.
#[inline]
pub fn records_tape() -> bool {
    STOPPED.get() == OPEN
}

/// Whether gradients of `level` are stopped now.
#[inline]
pub fn stops(level: u64) -> bool {
    let stopped = STOPPED.get();
    stopped != OPEN && level <= stopped
}

/// Runs `f` while every record keeps its value, its adjoint and the contribution of each edge, for [`Tape`](crate::autograd::Tape)
/// listings.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from(3.0).require_grad();
/// let y = record_values(|| {
///     let y = &x * &x;
///     y.backward_with(Backward::new().retain_graph());
///     y
/// });
/// let tape = Tape::of(&y);
/// assert_eq!(tape.rows().last().unwrap().value.as_ref().unwrap().item(), 9.0);
/// ```
pub fn record_values<R>(f: impl FnOnce() -> R) -> R {
    observed(VALUES, f)
}

/// Runs `f` with one observer more.
fn observed<R>(observer: u8, f: impl FnOnce() -> R) -> R {
    during(&OBSERVERS, OBSERVERS.get() | observer, f)
}

#[inline]
fn observes(observer: u8) -> bool {
    OBSERVERS.get() & observer != 0
}

#[inline]
pub fn records_values() -> bool {
    observes(VALUES)
}

/// An operation through which no gradient passes, although an operand requires one: it is not differentiable, as `detach` and `argmax`, or
/// was called under [`no_grad`].
#[derive(Clone, Debug)]
pub struct GradientStop {
    /// The name of the operation, such as `stop_gradient`, which is `detach`.
    pub operation: &'static str,
    /// Whether it was called under `no_grad`.
    pub under_no_grad: bool,
    /// The operand. [`Tape::of`](super::Tape::of) lists the records below it.
    pub operand: Tensor,
    /// The line of user code.
    pub line: Line,
}

/// Runs `f` and returns its result and the operations through which no gradient passed, oldest first.
///
/// ```
/// use wengert::{autograd::record_stops, prelude::*};
/// let x = Tensor::from(2.0).require_grad();
/// let (y, stops) = record_stops(|| x.sin() * x.square().detach());
/// assert_eq!((stops.len(), stops[0].operation, stops[0].operand.item()), (1, "stop_gradient", 4.0));
/// assert!(y.requires_grad());
/// ```
pub fn record_stops<R>(f: impl FnOnce() -> R) -> (R, Vec<GradientStop>) {
    let outer = STOPPED_AT.take();
    let result = observed(STOPS, f);
    (result, STOPPED_AT.replace(outer))
}

/// Records that no gradient passes to the operands with a link, if that is observed.
#[inline]
pub fn note_stop(operation: &'static str, operands: &[&Tensor], line: Line) {
    if observes(STOPS) && !location::is_inherited() {
        let under_no_grad = !records_tape();
        let linked = operands.iter().filter(|operand| operand.link.is_some());
        let stop = |operand: &&Tensor| GradientStop {
            operation,
            under_no_grad,
            operand: (*operand).clone(),
            line: location::shown(line),
        };
        STOPPED_AT.with_borrow_mut(|stops| stops.extend(linked.map(stop)));
    }
}

/// Runs `f` while the times of operations are recorded.
pub(super) fn with_times<R>(f: impl FnOnce() -> R) -> R {
    observed(TIMES, f)
}

#[inline]
pub fn records_times() -> bool {
    observes(TIMES)
}

/// A zero gradient that met an infinite or NaN slope and stayed zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    /// The line of the operation with that slope.
    pub line: Line,
    /// The number of elements concerned.
    pub count: usize,
}

/// Runs `f` and stops with an error at the first operation, forward or backward, that produces a NaN from inputs without one. The message
/// names the operation and the line. Returns the result and the lines where zero gradients met infinite slopes.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([0.0, 1.0]).require_grad();
/// let error = catch(|| detect_anomaly(|| (&x - 1.0).log())).unwrap_err();
/// assert_eq!(error.operation(), "log");
///
/// let (_, guarded) = detect_anomaly(|| x.gt(0.0).where_(&x.log(), 0.0).sum().backward());
/// assert_eq!(guarded[0].count, 1);
/// ```
pub fn detect_anomaly<R>(f: impl FnOnce() -> R) -> (R, Vec<Guarded>) {
    let outer = GUARDED.take();
    let result = observed(ANOMALIES, f);
    (result, GUARDED.replace(outer))
}

#[inline]
pub fn detects_anomalies() -> bool {
    observes(ANOMALIES)
}

/// Whether anything observes operations or the values that they compute or save, so that no shortcut may be taken.
#[inline]
pub fn is_special() -> bool {
    OBSERVERS.get() != 0
}

/// Counts zero gradients that met infinite slopes at the current line.
pub fn note_guarded(count: usize, line: Line) {
    let line = location::shown(location::resolve(line));
    GUARDED.with_borrow_mut(|list| match list.iter_mut().find(|entry| entry.line == line) {
        Some(entry) => entry.count += count,
        None => list.push(Guarded { line, count }),
    });
}

/// Whether a saver decides how saved values are stored.
#[inline]
pub fn is_packing() -> bool {
    observes(PACKING)
}

pub(super) fn set_packing(packing: bool) {
    let others = OBSERVERS.get() & !PACKING;
    OBSERVERS.set(if packing { others | PACKING } else { others });
}
