//! What a function did with its inputs: operations and guards, in order.

use rustc_hash::FxHashMap;
use std::cell::Cell;
use wengert_kernels::cells::{Op, Relation};

/// What an entry of a trace reads, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operand(u32);

/// The same to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reads {
    /// The result of an entry.
    Entry(u32),
    /// An input of the function.
    Input(u32),
    /// A number that was known when it was traced.
    Constant(u32),
}

/// Entries, inputs and constants of a trace at most.
const MOST: u32 = 1 << 30;

impl Operand {
    pub fn new(reads: Reads) -> Operand {
        let (kind, number) = match reads {
            Reads::Entry(number) => (0, number),
            Reads::Input(number) => (1, number),
            Reads::Constant(number) => (2, number),
        };
        assert!(number < MOST, "a recording has at most {MOST} operations");
        Operand(kind * MOST + number)
    }

    pub fn reads(self) -> Reads {
        let number = self.0 % MOST;
        match self.0 / MOST {
            0 => Reads::Entry(number),
            1 => Reads::Input(number),
            _ => Reads::Constant(number),
        }
    }
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
        Trace { inputs, constants: Vec::new(), entries: SPARE.take(), known: FxHashMap::default() }
    }

    /// A number that is known; the same one is kept once.
    pub fn constant(&mut self, value: f64) -> Operand {
        let next = self.constants.len() as u32;
        let number = *self.known.entry(value.to_bits()).or_insert(next);
        if number == next {
            self.constants.push(value);
        }
        Operand::new(Reads::Constant(number))
    }

    pub fn push(&mut self, what: What, a: Operand, b: Operand) -> Operand {
        self.entries.push(Entry { what, a, b });
        Operand::new(Reads::Entry(self.entries.len() as u32 - 1))
    }

    /// The same without entries that neither outputs nor guards depend on; nothing if there is no such entry.
    pub fn without_unused(&self, outputs: &[Operand]) -> Option<(Trace, Vec<Operand>)> {
        let mut is_used: Vec<bool> = self.entries.iter().map(|entry| matches!(entry.what, What::Guard(..))).collect();
        let read = |is_used: &mut [bool], operand: Operand| {
            if let Reads::Entry(entry) = operand.reads() {
                is_used[entry as usize] = true;
            }
        };
        outputs.iter().for_each(|output| read(&mut is_used, *output));
        for (number, entry) in self.entries.iter().enumerate().rev() {
            if is_used[number] {
                read(&mut is_used, entry.a);
                read(&mut is_used, entry.b);
            }
        }
        if !is_used.contains(&false) {
            return None;
        }
        let mut places = vec![0; self.entries.len()];
        let mut trace = Trace::new(self.inputs);
        trace.constants.clone_from(&self.constants);
        let moved = |places: &[u32], operand: Operand| match operand.reads() {
            Reads::Entry(entry) => Operand::new(Reads::Entry(places[entry as usize])),
            _ => operand,
        };
        for (number, entry) in self.entries.iter().enumerate().filter(|(number, _)| is_used[*number]) {
            places[number] = trace.entries.len() as u32;
            trace.push(entry.what, moved(&places, entry.a), moved(&places, entry.b));
        }
        let outputs = outputs.iter().map(|output| moved(&places, *output)).collect();
        Some((trace, outputs))
    }
}

thread_local! {
    /// Memory for entries, kept from one trace to the next: memory that is new costs more than what is written to it.
    static SPARE: Cell<Vec<Entry>> = const { Cell::new(Vec::new()) };
}

/// Entries whose memory is kept at most.
const MOST_KEPT: usize = 1 << 22;

impl Drop for Trace {
    fn drop(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        let kept = SPARE.take();
        SPARE.set(if entries.capacity() > kept.capacity() && entries.capacity() <= MOST_KEPT { entries } else { kept });
    }
}
