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
    #[inline]
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

    /// Whether this is of the same kind as `from`, so many numbers further.
    pub fn is_moved(self, from: Operand, step: i64) -> bool {
        self.0 == from.0.wrapping_add(step as u32) && (self.0 ^ from.0) < MOST
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

/// Constants that are looked at before a table says where others are.
const FEW: usize = 4;

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
        let (bits, next) = (value.to_bits(), self.constants.len());
        // Most functions have few numbers, which are found sooner by looking.
        let first = self.constants.iter().take(FEW).position(|known| known.to_bits() == bits);
        let number = first.or_else(|| self.known.get(&bits).map(|number| *number as usize)).unwrap_or(next);
        if number == next {
            self.known.insert(bits, next as u32);
            self.constants.push(value);
        }
        Operand::new(Reads::Constant(number as u32))
    }

    #[inline]
    pub fn push(&mut self, what: What, a: Operand, b: Operand) -> Operand {
        self.entries.push(Entry { what, a, b });
        Operand::new(Reads::Entry(self.entries.len() as u32 - 1))
    }

    /// What outputs and guards need of the entries.
    pub fn needs(&self, outputs: &[Operand]) -> Needs {
        let count = self.entries.len();
        let mut needs = Needs { uses: vec![0; count], decides: vec![false; count], unused: 0 };
        outputs.iter().for_each(|output| needs.read(*output, false));
        for (number, Entry { what, a, b }) in self.entries.iter().enumerate().rev() {
            let is_guard = matches!(what, What::Guard(..));
            if !is_guard && needs.uses[number] == 0 {
                needs.unused += 1;
                continue;
            }
            let decides = is_guard || needs.decides[number];
            needs.read(*a, decides);
            if !matches!(what, What::Compute(op) if op.operands() == 1) {
                needs.read(*b, decides);
            }
        }
        needs
    }

    /// The same without entries that nothing needs.
    pub fn without_unused(&self, outputs: &[Operand], needs: &Needs) -> (Trace, Vec<Operand>, Needs) {
        let mut places = vec![0; self.entries.len()];
        let mut trace = Trace::new(self.inputs);
        trace.constants.clone_from(&self.constants);
        let mut left = Needs::default();
        let moved = |places: &[u32], operand: Operand| match operand.reads() {
            Reads::Entry(entry) => Operand::new(Reads::Entry(places[entry as usize])),
            _ => operand,
        };
        for (number, entry) in self.entries.iter().enumerate() {
            if needs.uses[number] > 0 || matches!(entry.what, What::Guard(..)) {
                places[number] = trace.entries.len() as u32;
                trace.push(entry.what, moved(&places, entry.a), moved(&places, entry.b));
                left.uses.push(needs.uses[number]);
                left.decides.push(needs.decides[number]);
            }
        }
        let outputs = outputs.iter().map(|output| moved(&places, *output)).collect();
        (trace, outputs, left)
    }
}

/// What is needed of the entries of a trace.
#[derive(Default)]
pub(crate) struct Needs {
    /// How often each one is read by outputs, by guards and by what they need.
    pub uses: Vec<u32>,
    /// Which ones a guard depends on: they have the bits that the function had, so that it decides as the function does.
    pub decides: Vec<bool>,
    /// How many nothing needs.
    pub unused: usize,
}

impl Needs {
    fn read(&mut self, operand: Operand, decides: bool) {
        if let Reads::Entry(entry) = operand.reads() {
            self.uses[entry as usize] += 1;
            self.decides[entry as usize] |= decides;
        }
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
