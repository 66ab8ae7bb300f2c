//! Traces: the operations and guards of a function, in order.

use rustc_hash::FxHashMap;
use std::cell::Cell;
use wengert_kernels::cells::{Op, Relation};

/// An operand of an entry, packed into four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operand(u32);

/// An unpacked operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reads {
    /// The result of an entry.
    Entry(u32),
    /// An input of the function.
    Input(u32),
    /// A number that was known while tracing.
    Constant(u32),
}

/// Maximum number of entries, inputs and constants of a trace.
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

    /// Whether this operand is of the same kind as `from`, with an index that is larger by `step`.
    pub fn is_moved(self, from: Operand, step: i64) -> bool {
        self.0 == from.0.wrapping_add(step as u32) && (self.0 ^ from.0) < MOST
    }
}

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// Computes a result.
    Compute(Op),
    /// Decides whether a relation holds, with the result while tracing.
    Guard(Relation, bool),
}

/// An operation or a guard. If it has only one operand, that is repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub what: What,
    pub a: Operand,
    pub b: Operand,
}

/// Number of constants that are searched linearly before a hash table is used.
const FEW: usize = 4;

/// The trace of a function.
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

    /// The operand of a constant. Equal constants are stored once.
    pub fn constant(&mut self, value: f64) -> Operand {
        let (bits, next) = (value.to_bits(), self.constants.len());
        // Most functions have few constants, which a linear search finds faster.
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

    /// Which entries the outputs and guards need.
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

    /// The same trace without unused entries.
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

/// Which entries of a trace are needed.
#[derive(Default)]
pub(crate) struct Needs {
    /// How often each entry is read by outputs, by guards and by entries that they need.
    pub uses: Vec<u32>,
    /// Entries that a guard depends on. They must have the same bits as in the function, so that guards decide as the function does.
    pub decides: Vec<bool>,
    /// Number of unused entries.
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
    /// Memory for entries, kept from one trace to the next: allocating new memory costs more than writing the entries.
    static SPARE: Cell<Vec<Entry>> = const { Cell::new(Vec::new()) };
}

/// Maximum number of entries whose memory is kept.
const MOST_KEPT: usize = 1 << 22;

impl Drop for Trace {
    fn drop(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        let kept = SPARE.take();
        SPARE.set(if entries.capacity() > kept.capacity() && entries.capacity() <= MOST_KEPT { entries } else { kept });
    }
}
