//! Programs as attributes, with a cache of programs derived from them.

use super::Program;
use crate::autograd::packing::with_saver;
use crate::primitive::{Attr, AttrValue, Attrs, wrong};
use crate::tensor::Value;
use rustc_hash::FxHasher;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;

/// A program that an operation runs. Equal programs are shared: if the same body is created again, as in a loop that is not compiled, its
/// derived programs are found in the cache.
///
/// ```
/// use wengert::{prelude::*, program::ProgramAttr};
/// let program = || Program::parse("program(a: f64[]) {\n  b: f64[] = mul(a, a)\n  return b\n}").unwrap();
/// assert_eq!(ProgramAttr::from(program()), ProgramAttr::from(program()));
/// ```
#[derive(Clone)]
pub struct ProgramAttr {
    shared: Arc<Shared>,
    /// Additional state of a recorded call: its pullback.
    record: Option<Arc<dyn Any + Send + Sync>>,
    /// The most bytes that a call may need.
    budget: Option<usize>,
    /// Whether equations that a device does not run are run on the CPU.
    falls_back: bool,
}

struct Shared {
    /// Unlike an address, this number is never reused.
    number: usize,
    program: Program,
    /// The most recently used entry is last.
    derived: Mutex<VecDeque<(Wish, Arc<dyn Any + Send + Sync>)>>,
}

impl Shared {
    fn find(&self, wish: &Wish) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut derived = lock(&self.derived);
        let place = derived.iter().rposition(|(other, _)| other == wish)?;
        // Usually it is the last one.
        if place + 1 < derived.len() {
            let found = derived.remove(place)?;
            derived.push_back(found);
        }
        derived.back().map(|(_, found)| found.clone())
    }
}

/// A key for derived programs: the kind of derivation, the inputs it is for, and further numbers.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    pub what: &'static str,
    pub inputs: Vec<bool>,
    pub numbers: Vec<usize>,
}

/// Number of bodies that are remembered after their last use.
const REMEMBERED: usize = 256;

/// Number of derived programs remembered per body: there may be one for each batch size, or for each other branch.
const REMEMBERED_WISHES: usize = 64;

/// The most recent bodies, with a hash of each.
static KNOWN: Mutex<VecDeque<(u64, Arc<Shared>)>> = Mutex::new(VecDeque::new());

static NEXT: AtomicUsize = AtomicUsize::new(0);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<Program> for ProgramAttr {
    fn from(program: Program) -> ProgramAttr {
        // A program that captures whole tensors is not remembered, because it would keep them alive.
        if program.captures.iter().any(|(_, tensor)| !matches!(tensor.value, Value::One(_))) {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            return ProgramAttr {
                shared: Arc::new(Shared { number, program, derived: Mutex::default() }),
                record: None,
                budget: None,
                falls_back: false,
            };
        }
        let key = key(&program);
        let mut known = lock(&KNOWN);
        let place = known.iter().position(|(other, shared)| *other == key && same(&shared.program, &program));
        // The least recently used one is dropped first.
        let shared = match place.and_then(|place| known.remove(place)) {
            Some((_, shared)) => shared,
            None => {
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                Arc::new(Shared { number, program, derived: Mutex::default() })
            }
        };
        known.push_back((key, shared.clone()));
        let forgotten = if known.len() > REMEMBERED { known.pop_front() } else { None };
        drop(known);
        if let Some((_, forgotten)) = forgotten {
            // Derived programs may contain the body itself, as their own forward program. This cycle has to be broken, or they would never
            // be freed. No lock is held while they are dropped.
            let derived = std::mem::take(&mut *lock(&forgotten.derived));
            drop(derived);
        }
        ProgramAttr { shared, record: None, budget: None, falls_back: false }
    }
}

/// A hash of everything that [`same`] compares.
fn key(program: &Program) -> u64 {
    let mut hasher = FxHasher::default();
    (&program.specs, &program.inputs, &program.outputs).hash(&mut hasher);
    for (var, tensor) in &program.captures {
        (var, super::identity(tensor)).hash(&mut hasher);
    }
    for equation in &program.equations {
        (equation.op.name(), &equation.attrs, &equation.inputs, &equation.outputs).hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether two programs compute the same and come from the same source lines.
fn same(a: &Program, b: &Program) -> bool {
    let captures = |program: &Program| -> Vec<_> {
        program.captures.iter().map(|(var, tensor)| (*var, super::identity(tensor))).collect()
    };
    (&a.specs, &a.inputs, &a.outputs) == (&b.specs, &b.inputs, &b.outputs)
        && captures(a) == captures(b)
        && a.equations.len() == b.equations.len()
        && a.equations.iter().zip(&b.equations).all(|(a, b)| {
            std::ptr::addr_eq(a.op, b.op)
                && a.op.name() == b.op.name()
                && (&a.attrs, &a.inputs, &a.outputs, a.line) == (&b.attrs, &b.inputs, &b.outputs, b.line)
        })
}

impl ProgramAttr {
    /// The result of `derive`; computed once for each key.
    #[doc(hidden)]
    pub fn derived<T: Any + Send + Sync>(&self, wish: Wish, derive: impl FnOnce(&Program) -> T) -> Arc<T> {
        let found = self.shared.find(&wish);
        if let Some(found) = found {
            return found.downcast().expect("a wish has one kind of answer");
        }
        // Deriving runs rules: no lock is held meanwhile, and nothing that they save is recorded.
        let made = Arc::new(with_saver(None, || derive(&self.shared.program)));
        let mut derived = lock(&self.shared.derived);
        derived.push_back((wish, made.clone()));
        let forgotten = if derived.len() > REMEMBERED_WISHES { derived.pop_front() } else { None };
        drop(derived);
        drop(forgotten);
        made
    }

    /// The program itself.
    pub fn program(&self) -> &Program {
        &self.shared.program
    }

    /// A unique number of this program.
    #[doc(hidden)]
    pub fn number(&self) -> usize {
        self.shared.number
    }

    /// The same program, of which a call may need at most so many bytes. Plans keep to it; programs that are derived from it for calls
    /// under transforms take it over.
    #[doc(hidden)]
    pub fn limited(self, budget: Option<usize>) -> ProgramAttr {
        ProgramAttr { budget, ..self }
    }

    /// The most bytes that a call may need, if that is limited.
    #[doc(hidden)]
    pub fn budget(&self) -> Option<usize> {
        self.budget
    }

    /// The same program, whose equations run on the CPU if the device of a call does not run them. Programs that are derived from it for
    /// calls under transforms take it over.
    #[doc(hidden)]
    pub fn falling_back(self, falls_back: bool) -> ProgramAttr {
        ProgramAttr { falls_back, ..self }
    }

    /// Whether equations that a device does not run are run on the CPU.
    #[doc(hidden)]
    pub fn falls_back(&self) -> bool {
        self.falls_back
    }

    /// The same program with a record attached.
    #[doc(hidden)]
    pub fn recorded(&self, record: Arc<dyn Any + Send + Sync>) -> ProgramAttr {
        ProgramAttr { record: Some(record), ..self.clone() }
    }

    /// The pullback of the recorded call; `None` if the call is not a record.
    #[doc(hidden)]
    pub fn record<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.record.clone()?.downcast().ok()
    }

    /// The same program without its record.
    #[doc(hidden)]
    pub fn bare(&self) -> ProgramAttr {
        ProgramAttr { record: None, ..self.clone() }
    }
}

impl Deref for ProgramAttr {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.shared.program
    }
}

impl fmt::Debug for ProgramAttr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.shared.program, f)
    }
}

impl PartialEq for ProgramAttr {
    fn eq(&self, other: &ProgramAttr) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for ProgramAttr {}

impl Hash for ProgramAttr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(Arc::as_ptr(&self.shared), state);
    }
}

/// The programs that an operation runs, as one attribute: one body, or several branches.
#[derive(Clone, Debug)]
pub struct Bodies(pub Vec<ProgramAttr>);

impl AttrValue for Bodies {
    fn is_same(&self, other: &dyn AttrValue) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Bodies>().is_some_and(|other| other.0 == self.0)
    }

    fn feed(&self, mut state: &mut dyn Hasher) {
        self.0.hash(&mut state);
    }

    fn has_effect(&self) -> bool {
        self.0.iter().any(|body| body.has_effect())
    }

    fn is_body(&self) -> bool {
        true
    }
}

/// The programs in an attribute, if it holds any.
pub fn bodies_of(attr: &Attr) -> Option<&[ProgramAttr]> {
    let Attr::Other(value) = attr else { return None };
    let value: &dyn Any = value.as_ref();
    value.downcast_ref::<Bodies>().map(|bodies| &bodies.0[..])
}

/// Programs among the attributes of a call.
pub trait ProgramAttrs {
    /// Adds a program that the operation runs.
    fn with_program(self, name: &'static str, program: impl Into<ProgramAttr>) -> Attrs;

    /// Adds several programs, of which the operation runs one.
    fn with_programs(self, name: &'static str, programs: impl IntoIterator<Item = ProgramAttr>) -> Attrs;

    /// The programs called `name`.
    fn programs(&self, name: &str) -> &[ProgramAttr];

    /// The only program called `name`.
    fn program(&self, name: &str) -> &ProgramAttr;

    /// Every program with the name of its attribute, for passes to descend into.
    fn bodies(&self) -> vec::IntoIter<(&'static str, &ProgramAttr)>;
}

impl ProgramAttrs for Attrs {
    fn with_program(self, name: &'static str, program: impl Into<ProgramAttr>) -> Attrs {
        self.with_programs(name, [program.into()])
    }

    fn with_programs(self, name: &'static str, programs: impl IntoIterator<Item = ProgramAttr>) -> Attrs {
        self.with_other(name, Bodies(programs.into_iter().collect()))
    }

    fn programs(&self, name: &str) -> &[ProgramAttr] {
        match self.other::<Bodies>(name) {
            Some(bodies) => &bodies.0,
            None => wrong(format!("attribute '{name}' is not a program")),
        }
    }

    fn program(&self, name: &str) -> &ProgramAttr {
        match self.programs(name) {
            [program] => program,
            several => wrong(format!("attribute '{name}' has {} programs, not one", several.len())),
        }
    }

    fn bodies(&self) -> vec::IntoIter<(&'static str, &ProgramAttr)> {
        let mut all = Vec::new();
        for (name, value) in self.iter() {
            all.extend(bodies_of(value).unwrap_or_default().iter().map(|body| (*name, body)));
        }
        all.into_iter()
    }
}
