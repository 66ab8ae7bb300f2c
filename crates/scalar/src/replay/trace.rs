//! What a function did with its inputs: operations and guards, in order.

use rustc_hash::FxHashMap;
use wengert_kernels::cells::{Op, Relation};

/// What an entry of a trace reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    /// The result of an entry.
    Entry(u32),
    /// An input of the function.
    Input(u32),
    /// A number that was known when it was traced.
    Constant(u32),
}

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// It computes.
    Compute(Op),
    /// It was decided on whether a relation holds, which it did or did not.
    Guard(Relation, bool),
}

/// An operation or a guard; what has one operand repeats it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub what: What,
    pub a: Operand,
    pub b: Operand,
}

/// Everything that a function did.
#[derive(Default, Debug)]
pub(crate) struct Trace {
    pub inputs: u32,
    pub constants: Vec<f64>,
    pub entries: Vec<Entry>,
    known: FxHashMap<u64, u32>,
}

impl Trace {
    pub fn new(inputs: u32) -> Trace {
        Trace { inputs, ..Trace::default() }
    }

    /// A number that is known; the same one is kept once.
    pub fn constant(&mut self, value: f64) -> Operand {
        let next = self.constants.len() as u32;
        let number = *self.known.entry(value.to_bits()).or_insert(next);
        if number == next {
            self.constants.push(value);
        }
        Operand::Constant(number)
    }

    pub fn push(&mut self, what: What, a: Operand, b: Operand) -> Operand {
        self.entries.push(Entry { what, a, b });
        Operand::Entry(self.entries.len() as u32 - 1)
    }
}
