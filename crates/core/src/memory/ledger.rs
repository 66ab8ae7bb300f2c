//! An account of what records keep.

use crate::Tensor;
use crate::autograd::packing::{self, Origin, Purpose, Saver, save_around, with_saver};
use crate::interp::{Node, Role};
use crate::location::{self, Line};
use crate::primitive::Saved;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A value that a record saves.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedValue {
    /// The operation whose rule reads it.
    pub operation: &'static str,
    /// The line of that operation.
    pub line: Line,
    /// What it is to the operation.
    pub reason: Reason,
    /// The bytes of memory that it lies in, which other values may share.
    pub bytes: usize,
    /// Whether it lies in memory that no value before it lies in.
    pub is_first: bool,
    /// The line of the operation that made it, if a record did.
    pub made_at: Option<Line>,
    block: usize,
}

/// Why a value is saved.
///
/// ```
/// use wengert::memory::Reason;
/// assert_eq!(Reason::Operand(1).to_string(), "its operand 1");
/// assert_eq!(Reason::Output.to_string(), "its output");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The rule reads an operand.
    Operand(usize),
    /// The rule reads the output.
    Output,
    /// The rule reads what the operation noted: a mask, indices, statistics.
    Residual,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Operand(position) => write!(f, "its operand {position}"),
            Reason::Output => write!(f, "its output"),
            Reason::Residual => write!(f, "what it noted"),
        }
    }
}

impl SavedValue {
    /// Whether it shares its memory with a tensor.
    ///
    /// ```
    /// use wengert::{prelude::*, memory::record_saved};
    /// let x = Tensor::linspace(0.0, 1.0, 100).require_grad();
    /// let (y, saved) = record_saved(|| x.exp());
    /// assert!(saved[0].is_of(&y) && !saved[0].is_of(&x));
    /// ```
    pub fn is_of(&self, tensor: &Tensor) -> bool {
        tensor.holders().is_some_and(|holders| holders.block == self.block)
    }

    /// The memory that it lies in; 0 if there is none yet.
    #[doc(hidden)]
    pub fn block(&self) -> usize {
        self.block
    }
}

/// Runs `f`, and returns its result and what its records save for the backward pass, in order. Leaves are left out, because they exist anyway,
/// and so is what a checkpoint inside computes again.
///
/// ```
/// use wengert::{prelude::*, memory::{Reason, record_saved}};
/// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
/// let (_, saved) = record_saved(|| x.tanh().sum());
/// assert_eq!((saved[0].operation, saved[0].reason, saved[0].bytes), ("tanh", Reason::Output, 8000));
/// ```
pub fn record_saved<R>(f: impl FnOnce() -> R) -> (R, Vec<SavedValue>) {
    let listener = Arc::new(Listener { outer: packing::saver(), heard: Mutex::default() });
    let result = with_saver(Some(listener.clone()), f);
    let heard = std::mem::take(&mut *listener.heard.lock().unwrap_or_else(PoisonError::into_inner));
    (result, heard.values)
}

/// Runs `f`, and returns its result and the number of bytes that its records save for the backward pass, as [`record_saved`] lists them.
/// Memory that several records save counts once.
///
/// ```
/// use wengert::{prelude::*, memory::saved_bytes};
/// let x = Tensor::linspace(0.0, 1.0, 1000).require_grad();
/// let (_, bytes) = saved_bytes(|| x.exp().sin().sum());
/// // exp saves its output, which is also the operand that sin saves.
/// assert_eq!(bytes, 8000);
/// assert_eq!(no_grad(|| saved_bytes(|| x.exp().sin())).1, 0);
/// ```
pub fn saved_bytes<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let (result, saved) = record_saved(f);
    (result, saved.iter().filter(|value| value.is_first).map(|value| value.bytes).sum())
}

/// Notes what is saved, and leaves it to the saver around it.
struct Listener {
    outer: Option<Arc<dyn Saver>>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    values: Vec<SavedValue>,
    /// What the memory of each block held last.
    blocks: FxHashMap<usize, Held>,
    /// The number of values whose block holds another one.
    gone: usize,
}

/// The value in a block: when nobody needs it any more, the same memory may hold another one.
enum Held {
    /// The output of a call, whose record did not exist yet.
    Output(&'static str, Line),
    /// What a record made.
    Made(Weak<Node>),
    Unknown,
}

impl Held {
    fn by(purpose: &Purpose<'_>) -> Held {
        match (purpose.origin, purpose.maker) {
            (Origin::Output(_), _) => Held::Output(purpose.call, purpose.line),
            (Origin::Operand(_), Some(maker)) => Held::Made(Arc::downgrade(maker)),
            _ => Held::Unknown,
        }
    }

    /// Whether a value in the same block is this one, or a view of it.
    fn is_still_there(&self, purpose: &Purpose<'_>) -> bool {
        match (self, purpose.origin, purpose.maker) {
            (Held::Output(call, line), Origin::Output(_), _) => (*call, *line) == (purpose.call, purpose.line),
            (_, Origin::Output(_), _) => false,
            (Held::Output(call, line), _, Some(maker)) => {
                let before = |node: &Arc<Node>| node.edges().first().cloned().flatten();
                let mut makers = std::iter::successors(Some(maker.clone()), before).take(MOST_VIEWS);
                makers.any(|node| node.role() != Role::Leaf && node.op().name() == *call && node.line == *line)
            }
            (Held::Made(node), ..) => node.upgrade().is_some_and(|node| !node.is_consumed()),
            _ => true,
        }
    }
}

/// How many views of views are followed.
const MOST_VIEWS: usize = 8;

impl Listener {
    fn note(&self, value: &Tensor, purpose: &Purpose<'_>) {
        let (block, bytes) = match value.numbers("record_saved").map(|numbers| Tensor::from(numbers.clone()).holders())
        {
            Ok(Some(holders)) => (Some(holders.block), holders.bytes),
            Ok(None) => return,
            // It will have memory of its own when the values are there.
            Err(_) => (None, value.spec().bytes()),
        };
        let reason = match purpose.origin {
            Origin::Operand(position) => Reason::Operand(position),
            Origin::Output(_) => Reason::Output,
            Origin::Residual => Reason::Residual,
        };
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = block.is_none_or(|block| heard.is_new(block, purpose));
        let (operation, line, block) = (purpose.call, location::shown(purpose.line), block.unwrap_or(0));
        let made_at = match purpose.origin {
            Origin::Operand(_) => purpose.maker.map(|maker| location::shown(maker.line)),
            _ => Some(line),
        };
        heard.values.push(SavedValue { operation, line, reason, bytes, is_first, made_at, block });
    }
}

impl Heard {
    /// Whether a block has not been noted yet, or holds another value now.
    fn is_new(&mut self, block: usize, purpose: &Purpose<'_>) -> bool {
        match self.blocks.entry(block) {
            Entry::Vacant(place) => {
                place.insert(Held::by(purpose));
                true
            }
            Entry::Occupied(place) if place.get().is_still_there(purpose) => false,
            Entry::Occupied(mut place) => {
                place.insert(Held::by(purpose));
                // What was there before is in no block of now.
                self.gone += 1;
                let other = usize::MAX - self.gone;
                self.values.iter_mut().filter(|value| value.block == block).for_each(|value| value.block = other);
                true
            }
        }
    }
}

impl Saver for Listener {
    fn save(self: Arc<Self>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
        if purpose.maker.is_none_or(|maker| maker.role() != Role::Leaf) {
            self.note(value, purpose);
        }
        save_around(&self.outer, level, value, purpose)
    }

    fn outer(&self) -> Option<&Arc<dyn Saver>> {
        self.outer.as_ref()
    }
}
