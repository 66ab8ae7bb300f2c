//! How the second run of a function is compared with the first.

use crate::Tensor;
use crate::autograd::packing::{Origin, Purpose};
use crate::ground::internal::barrier::BARRIER;
use crate::interp::{Node, Role};
use crate::location::{self, Line};
use crate::primitive::Spec;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// How much of the values that a checkpointed function saves is compared with its second run.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::memory::Verify;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let calls = AtomicUsize::new(0);
/// // Only one of a thousand numbers differs.
/// let fickle = checkpoint(move |x: &Tensor| {
///     let change = calls.fetch_add(1, Ordering::Relaxed) as f64;
///     let mut changes = vec![0.0; 1000];
///     changes[777] = change;
///     (x + Tensor::from(changes)).sin().cos()
/// });
/// let x = Tensor::linspace(0.0, 0.5, 1000);
/// let error = catch(|| Verify::All.within(|| grad(|x: &Tensor| fickle(x).sum())(&x))).unwrap_err();
/// assert!(error.message().contains("element 777"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Nothing is compared but the operations and the number of values.
    Off,
    /// Up to 16 elements of each value.
    #[default]
    Sampled,
    /// All elements. The values of the first run are kept for it, so nothing is saved.
    All,
}

thread_local! {
    static CURRENT: Cell<Verify> = const { Cell::new(Verify::Sampled) };
}

impl Verify {
    /// Runs `f`; the checkpoints that are made inside compare this much, whenever they run again.
    pub fn within<R>(self, f: impl FnOnce() -> R) -> R {
        struct Restore(Verify);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        f()
    }

    #[doc(hidden)]
    pub fn current() -> Verify {
        CURRENT.get()
    }
}

/// Where a value was saved in the first run.
#[derive(Clone, Copy)]
pub(super) struct Place {
    call: &'static str,
    line: Line,
    origin: Origin,
    /// The call that made it, if it is an operand and was recorded.
    made_by: Option<(&'static str, Line)>,
}

impl Place {
    /// An operand of a call that is about to be made at the current line.
    pub fn operand(call: &'static str, position: usize) -> Place {
        let line = location::resolve(Line::caller());
        Place { call, line, origin: Origin::Operand(position), made_by: None }
    }

    pub fn of(purpose: &Purpose<'_>) -> Place {
        let call = |node: &Arc<Node>| match node.role() {
            // An input of the second run.
            Role::Operation if node.op().is(&BARRIER) => None,
            Role::Operation => Some((node.op().name(), node.line)),
            Role::Output(_) => node.edges()[0].as_ref().map(|call| (call.op().name(), call.line)),
            Role::Leaf => None,
        };
        Place { call: purpose.call, line: purpose.line, origin: purpose.origin, made_by: purpose.maker.and_then(call) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.made_by, self.origin) {
            (Some((call, line)), _) => write!(f, "the result of {call} at {}", location::shown(line)),
            (None, Origin::Operand(position)) => {
                write!(f, "operand {position} of {} at {}", self.call, location::shown(self.line))
            }
            (None, _) => write!(f, "the result of {} at {}", self.call, location::shown(self.line)),
        }
    }
}

/// What the second run has to save.
pub(super) struct Expected {
    value: Remembered,
    place: Place,
}

/// What a second computation of a value is compared with.
#[doc(hidden)]
pub struct Remembered {
    spec: Spec,
    numbers: Numbers,
}

enum Numbers {
    /// They are not compared, or there are none: the value is batched or symbolic.
    Unknown,
    Sampled(Box<[f64]>),
    All(Tensor),
}

/// The first element, if the value has numbers.
fn first(value: &Tensor) -> Option<f64> {
    let numbers = value.numbers("checkpoint").ok().filter(|_| value.elements() > 0)?;
    Some(numbers.view().at_linear::<f64>(0))
}

/// The number of elements of a value that are compared.
const SAMPLED: usize = 16;

/// Place `k` of the elements that are compared.
fn sampled(k: usize, count: usize) -> usize {
    k * count / count.min(SAMPLED)
}

impl Remembered {
    /// As much of a value as is compared.
    pub fn of(value: &Tensor, verify: Verify) -> Remembered {
        let numbers = match (verify, value.numbers("checkpoint")) {
            (Verify::Off, _) | (_, Err(_)) => Numbers::Unknown,
            (Verify::Sampled, Ok(numbers)) => {
                let (view, count) = (numbers.view(), value.elements());
                Numbers::Sampled((0..count.min(SAMPLED)).map(|k| view.at_linear(sampled(k, count))).collect())
            }
            // Not the tensor of a transform: its record may lead back here.
            (Verify::All, Ok(numbers)) => Numbers::All(Tensor::from(numbers.clone())),
        };
        Remembered { spec: value.spec(), numbers }
    }

    /// How the value, called `what`, differs when it is computed again, by more than this part of it.
    pub fn difference(&self, what: &dyn fmt::Display, value: &Tensor, tolerance: f64) -> Option<String> {
        let spec = value.spec();
        if spec != self.spec {
            return Some(format!("{what} is {spec}, and was {}", self.spec));
        }
        let now = value.numbers("checkpoint").ok()?.view();
        let count = value.elements();
        let is_same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a - b).abs() <= tolerance * (1.0 + a.abs());
        let (element, was, is) = match &self.numbers {
            Numbers::Unknown => None,
            Numbers::Sampled(before) => before
                .iter()
                .enumerate()
                .map(|(k, was)| (sampled(k, count), *was))
                .map(|(element, was)| (element, was, now.at_linear::<f64>(element)))
                .find(|(_, was, is)| !is_same(*was, *is)),
            Numbers::All(before) => {
                let before = before.numbers("checkpoint").ok()?.view();
                let pairs = (0..count).map(|k| (k, before.at_linear::<f64>(k), now.at_linear::<f64>(k)));
                pairs.into_iter().find(|(_, was, is)| !is_same(*was, *is))
            }
        }?;
        Some(format!("element {element} of {what} is {is:?}, and was {was:?}"))
    }
}

impl Expected {
    pub fn of(value: &Tensor, verify: Verify, place: Place) -> Expected {
        Expected { value: Remembered::of(value, verify), place }
    }

    /// What was saved, and what `place` saves instead of it.
    pub fn replaced(&self, place: Place, value: &Tensor) -> String {
        let was = match &self.value.numbers {
            Numbers::Unknown => None,
            Numbers::Sampled(numbers) => numbers.first().copied(),
            Numbers::All(before) => first(before),
        };
        let shown = |place: Place, spec: &Spec, first: Option<f64>| {
            let first = first.map_or_else(String::new, |number| format!(" that begins with {number:?}"));
            format!("{place}, {spec}{first}")
        };
        let now = shown(place, &value.spec(), first(value));
        format!("it is {now}, and was {}", shown(self.place, &self.value.spec, was))
    }

    /// How the value of the second run differs, by more than this part of it.
    pub fn difference(&self, value: &Tensor, tolerance: f64) -> Option<String> {
        self.value.difference(&self.place, value, tolerance)
    }
}
