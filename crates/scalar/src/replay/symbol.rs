//! Symbols: numbers that record their operations for replay with other inputs.

use super::trace::{Operand, Reads, Trace, What};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wengert_engine::{Error, ErrorKind};
use wengert_kernels::cells::{Op, Relation};

/// A number in a function that is recorded as a [`Replay`](crate::Replay): its current value, and how it was computed.
///
/// Anything that reads the value (a comparison, [`to_f64`](crate::Real::to_f64)) is a guard of the recording. If it would turn out
/// differently, the recording does not apply.
#[derive(Clone, Copy)]
pub struct Symbol {
    pub(super) value: f64,
    /// `None` for constants.
    pub(super) operand: Option<Operand>,
    recording: u64,
}

thread_local! {
    static TRACES: RefCell<Vec<(u64, Trace)>> = const { RefCell::new(Vec::new()) };
}

/// Number of recordings so far on all threads: a symbol that is sent to another thread belongs to no recording there.
static RECORDINGS: AtomicU64 = AtomicU64::new(0);

/// Traces `f` for inputs with these values. Returns the trace and the operands that `f` returns.
pub(crate) fn traced<R>(x: &[f64], f: impl FnOnce(&[Symbol]) -> R, returned: impl FnOnce(R) -> Vec<Symbol>) -> Traced {
    /// Ends the recording, also if `f` panics.
    struct Ending;
    impl Drop for Ending {
        fn drop(&mut self) {
            TRACES.with_borrow_mut(Vec::pop);
        }
    }
    let recording = RECORDINGS.fetch_add(1, Relaxed) + 1;
    TRACES.with_borrow_mut(|traces| traces.push((recording, Trace::new(x.len() as u32))));
    let ending = Ending;
    let input = |(number, &value): (usize, &f64)| Symbol {
        value,
        operand: Some(Operand::new(Reads::Input(number as u32))),
        recording,
    };
    let inputs: Vec<Symbol> = x.iter().enumerate().map(input).collect();
    let outputs = returned(f(&inputs));
    let values = outputs.iter().map(|output| output.value).collect();
    let operands = outputs.iter().map(|output| output.operand()).collect();
    std::mem::forget(ending);
    let (_, trace) = TRACES.with_borrow_mut(Vec::pop).expect("it is running");
    Traced { trace, values, outputs: operands }
}

/// The result of [`traced`].
pub(crate) struct Traced {
    pub trace: Trace,
    /// The values of the outputs, and their operands.
    pub values: Vec<f64>,
    pub outputs: Vec<Operand>,
}

#[cold]
#[track_caller]
fn misused() -> ! {
    Error::new(
        ErrorKind::WrongLevel,
        "symbol",
        "a number is used whose recording has ended, or that belongs to another one",
    )
    .help("compute with the inputs that the recorded function is given")
    .at(Location::caller())
    .raise()
}

impl Symbol {
    pub(super) fn constant(value: f64) -> Symbol {
        Symbol { value, operand: None, recording: 0 }
    }

    /// The current value. Unlike [`to_f64`](crate::Real::to_f64) this is not a guard: use it for printing, not for decisions.
    pub fn peek(self) -> f64 {
        self.value
    }

    /// The operand in the running recording.
    #[track_caller]
    fn operand(self) -> Operand {
        with_trace(self.own_recording(), |trace| self.read_in(trace)).unwrap_or_else(|| misused())
    }

    #[inline]
    fn read_in(self, trace: &mut Trace) -> Operand {
        self.operand.unwrap_or_else(|| trace.constant(self.value))
    }

    /// `None` for constants, which belong to every recording.
    #[inline]
    fn own_recording(self) -> Option<u64> {
        self.operand.map(|_| self.recording)
    }

    /// The recording that both belong to; `None` if both are constants.
    #[inline]
    #[track_caller]
    fn recording_of(a: Symbol, b: Symbol) -> Option<u64> {
        match (a.own_recording(), b.own_recording()) {
            (Some(a), Some(b)) if a != b => misused(),
            (a, b) => a.or(b),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn computed(op: Op, a: Symbol, b: Symbol) -> Symbol {
        let value = op.apply(a.value, b.value);
        let Some(recording) = Symbol::recording_of(a, b) else { return Symbol::constant(value) };
        let Some(operand) = write_down(recording, What::Compute(op), a, b) else { misused() };
        Symbol { value, operand: Some(operand), recording }
    }

    #[inline]
    #[track_caller]
    pub(super) fn of_one(self, op: Op) -> Symbol {
        Symbol::computed(op, self, self)
    }

    /// Whether a relation holds now. The answer becomes a guard.
    #[inline]
    #[track_caller]
    pub(super) fn decided(relation: Relation, a: Symbol, b: Symbol) -> bool {
        let held = relation.holds(a.value, b.value);
        if let Some(recording) = Symbol::recording_of(a, b)
            && write_down(recording, What::Guard(relation, held), a, b).is_none()
        {
            misused();
        }
        held
    }
}

/// Calls `f` with the running trace, unless that belongs to another recording.
fn with_trace<R>(recording: Option<u64>, f: impl FnOnce(&mut Trace) -> R) -> Option<R> {
    TRACES.with_borrow_mut(|traces| match traces.last_mut() {
        Some((running, trace)) if recording.is_none_or(|recording| recording == *running) => Some(f(trace)),
        _ => None,
    })
}

/// Appends an entry to the running trace, unless that belongs to another recording. Not inlined, so that the entry is passed in registers,
/// and not through memory in two halves that are slow to read back as one.
#[inline(never)]
fn write_down(recording: u64, what: What, a: Symbol, b: Symbol) -> Option<Operand> {
    with_trace(Some(recording), |trace| {
        let (a, b) = (a.read_in(trace), b.read_in(trace));
        trace.push(what, a, b)
    })
}

/// A constant.
impl From<f64> for Symbol {
    fn from(value: f64) -> Symbol {
        Symbol::constant(value)
    }
}

/// Formats the value like a float. Like [`peek`](Symbol::peek), this is not a guard.
impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

/// Formats the value like a float.
impl fmt::LowerExp for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerExp::fmt(&self.value, f)
    }
}

/// The value, and the operand.
impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operand {
            Some(operand) => write!(f, "Symbol({:?}, {:?})", self.value, operand.reads()),
            None => write!(f, "Symbol({:?})", self.value),
        }
    }
}

impl PartialEq for Symbol {
    #[track_caller]
    fn eq(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::Equal, *self, *other)
    }
}

impl PartialOrd for Symbol {
    #[track_caller]
    fn partial_cmp(&self, other: &Symbol) -> Option<Ordering> {
        if *self < *other {
            Some(Ordering::Less)
        } else if *other < *self {
            Some(Ordering::Greater)
        } else if *self == *other {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    #[track_caller]
    fn lt(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::Less, *self, *other)
    }

    #[track_caller]
    fn le(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::AtMost, *self, *other)
    }

    #[track_caller]
    fn gt(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::Less, *other, *self)
    }

    #[track_caller]
    fn ge(&self, other: &Symbol) -> bool {
        Symbol::decided(Relation::AtMost, *other, *self)
    }
}
