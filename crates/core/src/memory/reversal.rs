//! Calls whose inputs are computed from their outputs when the backward pass needs them.
//!
//! A call holds its outputs as numbers, until another such call has exactly these outputs as inputs: then they can be computed from its
//! outputs, and are dropped. So a chain holds the outputs of its last call. The sweep goes through it backwards, and every call leaves its
//! inputs to the call before it.

use super::region::{Inputs, Region};
use super::verify::{Expected, Place, Verify};
use crate::autograd::packing::{Purpose, undisturbed};
use crate::interp::{Content, Level, Node, tape};
use crate::location::Line;
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A function of the leaves of a structure.
pub type LeafMap = dyn Fn(Vec<Tensor>) -> Vec<Tensor> + Send + Sync;

/// A function, and one that computes its inputs from its outputs.
#[derive(Clone)]
pub struct Invertible {
    /// The function.
    pub run: Arc<LeafMap>,
    /// Its inverse.
    pub inverse: Arc<LeafMap>,
}

/// The outputs of one call.
struct Outputs(Mutex<State>);

enum State {
    /// The call is not over.
    Unknown,
    Held(Vec<Tensor>),
    /// They are inputs of a later call.
    Through {
        inverse: Arc<LeafMap>,
        later: Arc<Outputs>,
    },
}

impl Outputs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        let old = std::mem::replace(&mut *self.state(), state);
        drop(old);
    }

    /// Their numbers, computed back from the nearest call that holds its own.
    fn numbers(self: &Arc<Outputs>) -> Result<Vec<Tensor>, Error> {
        let (mut path, mut at) = (Vec::new(), self.clone());
        let mut numbers = loop {
            let later = match &*at.state() {
                State::Held(numbers) => break numbers.clone(),
                State::Through { inverse, later } => {
                    path.push(inverse.clone());
                    later.clone()
                }
                State::Unknown => {
                    let message = "a sweep inside the function asks for what the function saves while it runs";
                    return Err(Error::new(ErrorKind::Checkpoint, "reversible", message));
                }
            };
            at = later;
        };
        for inverse in path.into_iter().rev() {
            numbers = undisturbed(|| inverse(numbers));
        }
        self.set(State::Held(numbers.clone()));
        Ok(numbers)
    }
}

/// Long chains are freed in a loop, because recursion would overflow the stack.
impl Drop for Outputs {
    fn drop(&mut self) {
        let mut state = std::mem::replace(&mut *self.state(), State::Unknown);
        while let State::Through { later, .. } = state {
            let Some(later) = Arc::into_inner(later) else { return };
            state = std::mem::replace(&mut *later.state(), State::Unknown);
        }
    }
}

/// The place of a tensor in the graph.
enum Standing {
    Constant,
    /// On the imperative tape.
    Linked(Arc<Node>),
    /// Right above numbers.
    OfLevel(Arc<Level>, Arc<Node>),
}

impl Standing {
    /// `None` for a tensor whose place cannot be given to other numbers.
    fn of(tensor: &Tensor) -> Option<Standing> {
        match (&tensor.value, &tensor.link) {
            (Value::Tracer(tracer), _) => match &tracer.content {
                Content::Reverse { primal, node } if primal.is_plain() => {
                    Some(Standing::OfLevel(tracer.level.clone(), node.clone()))
                }
                _ => None,
            },
            (_, Some(node)) => Some(Standing::Linked(node.clone())),
            _ => Some(Standing::Constant),
        }
    }

    fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Standing::Constant => None,
            Standing::Linked(node) | Standing::OfLevel(_, node) => Some(node),
        }
    }

    /// These numbers in this place.
    fn take(&self, numbers: &Tensor, line: Line) -> Tensor {
        match self {
            Standing::Constant => numbers.clone(),
            Standing::Linked(node) => Tensor { link: Some(node.clone()), ..numbers.clone() },
            Standing::OfLevel(level, node) => tape::lift(level, numbers, node.clone(), line),
        }
    }
}

/// The numbers of the records of some tensors; `None` if one has none.
fn key(standings: &[Standing]) -> Option<Vec<u64>> {
    standings.iter().map(|standing| standing.node().map(|node| node.id())).collect()
}

thread_local! {
    /// The calls so far, by their outputs, and the number of entries at which those of calls that are gone are removed.
    static CALLS: RefCell<(FxHashMap<Vec<u64>, Weak<Outputs>>, usize)> = RefCell::new((FxHashMap::default(), 64));
}

fn register(key: Vec<u64>, outputs: &Arc<Outputs>) {
    CALLS.with_borrow_mut(|(calls, most)| {
        calls.insert(key, Arc::downgrade(outputs));
        if calls.len() > *most {
            calls.retain(|_, outputs| outputs.strong_count() > 0);
            *most = 64 + 2 * calls.len();
        }
    });
}

fn plain(tensors: &[Tensor]) -> Option<Vec<Tensor>> {
    tensors.iter().map(|tensor| Some(Tensor::from(tensor.numbers("reversible").ok()?.clone()))).collect()
}

/// Calls `call`, which applies a function to these inputs, so that nothing is saved but its outputs. Where the inputs are not numbers, they
/// are saved too. The second result of `call` is the outputs' leaves.
pub fn reversed<R>(
    inputs: &[&Tensor],
    Invertible { run, inverse }: Invertible,
    tolerance: f64,
    call: impl FnOnce() -> (R, Vec<Tensor>),
    line: Line,
) -> R {
    let again = move |leaves: Vec<Tensor>| drop(run(leaves));
    let Some(standings) = inputs.iter().map(|input| Standing::of(input)).collect::<Option<Vec<_>>>() else {
        return Region::new(inputs, None, again, line).record(call).0;
    };
    let before = key(&standings).and_then(|key| CALLS.with_borrow(|(calls, _)| calls.get(&key)?.upgrade()));
    let expect = |(position, input): (usize, &&Tensor)| {
        Expected::of(input, Verify::current(), Place::of(&Purpose::input("reversible", line, position)))
    };
    let expected: Vec<Expected> = inputs.iter().enumerate().map(expect).collect();
    let outputs = Arc::new(Outputs(Mutex::new(State::Unknown)));
    let rebuild = {
        let (outputs, inverse, before) = (outputs.clone(), inverse.clone(), before.clone());
        move || {
            let numbers = outputs.numbers()?;
            let inputs = undisturbed(|| inverse(numbers));
            let differs =
                expected.iter().zip(&inputs).find_map(|(expected, input)| expected.difference(input, tolerance));
            let count = (inputs.len() != expected.len()).then(|| format!("it has {} leaves", inputs.len()));
            if let Some(how) = count.or(differs) {
                let message = format!("the inverse does not return the input: {how}");
                return Err(Error::new(ErrorKind::Checkpoint, "reversible", message).at(line).help(
                    "rounding errors grow along a chain: use a checkpoint now and then, a wider dtype, or a larger tolerance",
                ));
            }
            if let Some(before) = &before {
                before.set(State::Held(inputs.clone()));
            }
            Ok(standings
                .iter()
                .zip(&inputs)
                .map(|(standing, input)| standing.take(input, line))
                .collect::<Vec<Tensor>>())
        }
    };
    let inputs = Inputs::Rebuilt { rebuild: Box::new(rebuild), tolerance };
    let (result, leaves) = Region::from_inputs(inputs, None, again, line).record(call);
    let Some(numbers) = plain(&leaves) else {
        let message = "a function of numbers returned a tensor of a transform, which it captured";
        Error::new(ErrorKind::WrongLevel, "reversible", message).at(line).help("pass it as an input").raise()
    };
    outputs.set(State::Held(numbers));
    if let Some(before) = before {
        before.set(State::Through { inverse, later: outputs.clone() });
    }
    if let Some(key) = leaves.iter().map(Standing::of).collect::<Option<Vec<_>>>().and_then(|places| key(&places)) {
        register(key, &outputs);
    }
    result
}
