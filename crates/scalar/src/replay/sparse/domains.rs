//! Which inputs each value of a trace depends on, and which pairs of inputs it depends on nonlinearly.
//!
//! Equal sets of inputs are stored once. The set of a sum of many terms is only built on demand, so a sum of small terms costs no more than
//! its terms.

use super::super::slopes::{Slope, formula, slopes};
use super::super::symbol::Traced;
use super::super::trace::{Entry, Operand, Reads, Trace, What};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use wengert_engine::Pattern;
use wengert_kernels::cells::Op;

/// Sets of up to this many inputs are built at once.
const SMALL: usize = 16;

/// Marks a set that is built on demand.
const LATER: u32 = u32::MAX;

/// Sets by index: 0 is the empty set, i + 1 is the set of input i alone, and sets of several inputs follow.
struct Sets {
    inputs: Vec<u32>,
    several: Vec<Rc<[u32]>>,
    numbers: FxHashMap<Rc<[u32]>, u32>,
}

impl Sets {
    /// The members in ascending order.
    fn members(&self, number: u32) -> &[u32] {
        match number as usize {
            0 => &[],
            one if one <= self.inputs.len() => &self.inputs[one - 1..one],
            several => &self.several[several - self.inputs.len() - 1],
        }
    }

    /// The index of a set, given its members in ascending order.
    fn number(&mut self, members: Vec<u32>) -> u32 {
        match members[..] {
            [] => 0,
            [input] => input + 1,
            _ => {
                let members: Rc<[u32]> = members.into();
                let next = (self.inputs.len() + 1 + self.several.len()) as u32;
                let number = *self.numbers.entry(members.clone()).or_insert(next);
                if number == next {
                    self.several.push(members);
                }
                number
            }
        }
    }
}

struct Domains<'t> {
    trace: &'t Trace,
    sets: Sets,
    unions: FxHashMap<(u32, u32), u32>,
    /// The index of the set of every entry, or `LATER`.
    of: Vec<u32>,
    marks: Marks,
}

/// Entries and inputs visited since the last reset.
struct Marks {
    turn: u32,
    entries: Vec<u32>,
    inputs: Vec<u32>,
}

/// Whether the derivative of an operation with respect to each operand is nonzero.
fn reads(op: Op) -> [bool; 2] {
    slopes(op).map(|slope| !matches!(slope, Slope::Zero))
}

/// The operands that an entry has a nonzero derivative with respect to.
fn parts(Entry { what, a, b }: &Entry) -> [Option<Operand>; 2] {
    match what {
        What::Compute(op) => {
            let [by_a, by_b] = reads(*op);
            [by_a.then_some(*a), by_b.then_some(*b)]
        }
        What::Guard(..) => [None; 2],
    }
}

/// For the partial derivative with respect to each operand, which operands it depends on.
fn bends(op: Op) -> [[bool; 2]; 2] {
    slopes(op).map(|slope| match slope {
        Slope::Zero | Slope::One | Slope::MinusOne | Slope::Share(_) => [false; 2],
        Slope::Operand(number) => [number == 0, number == 1],
        Slope::MinusResultTimes(_) => reads(op),
        Slope::Formula(slope) => {
            let Traced { trace, outputs, .. } = formula(|a, b, y| slope(op, a, b, y));
            let mut domains = Domains::new(&trace);
            let number = domains.set(outputs[0]);
            // A derivative that reads the result depends on everything that the result depends on.
            let has = |input: u32| domains.sets.members(number).contains(&input);
            let [a, b] = reads(op);
            [has(0) || a && has(2), has(1) || b && has(2)]
        }
    })
}

impl Domains<'_> {
    fn new(trace: &Trace) -> Domains<'_> {
        let (inputs, count) = ((0..trace.inputs).collect(), trace.entries.len());
        let marks = Marks { turn: 0, entries: vec![0; count], inputs: vec![0; trace.inputs as usize] };
        let mut domains = Domains {
            trace,
            sets: Sets { inputs, several: Vec::new(), numbers: FxHashMap::default() },
            unions: FxHashMap::default(),
            of: Vec::with_capacity(count),
            marks,
        };
        for entry in &trace.entries {
            let parts = parts(entry).map(|part| part.map_or(0, |part| domains.known(part)));
            let union = domains.unite(parts);
            domains.of.push(union);
        }
        domains
    }

    /// The index of an operand's set, if it was built.
    fn known(&self, operand: Operand) -> u32 {
        match operand.reads() {
            Reads::Constant(_) => 0,
            Reads::Input(input) => input + 1,
            Reads::Entry(entry) => self.of[entry as usize],
        }
    }

    fn unite(&mut self, [a, b]: [u32; 2]) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 || b == LATER {
            return b;
        }
        if a == LATER {
            return a;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.unions.get(&key) {
            return *known;
        }
        let (few, many) = if self.sets.members(a).len() < self.sets.members(b).len() { (a, b) } else { (b, a) };
        let (less, more) = (self.sets.members(few), self.sets.members(many));
        let union = if less.iter().all(|input| more.binary_search(input).is_ok()) {
            many
        } else if less.len() + more.len() <= SMALL {
            let mut members = [less, more].concat();
            members.sort_unstable();
            members.dedup();
            self.sets.number(members)
        } else {
            LATER
        };
        self.unions.insert(key, union);
        union
    }

    /// The index of an operand's set.
    fn set(&mut self, operand: Operand) -> u32 {
        let known = self.known(operand);
        if known != LATER {
            return known;
        }
        self.marks.turn += 1;
        let (mut stack, mut members) = (vec![operand], Vec::new());
        while let Some(operand) = stack.pop() {
            let (known, turn) = (self.known(operand), self.marks.turn);
            if known != LATER {
                for &input in self.sets.members(known) {
                    if std::mem::replace(&mut self.marks.inputs[input as usize], turn) != turn {
                        members.push(input);
                    }
                }
                continue;
            }
            let Reads::Entry(entry) = operand.reads() else { unreachable!("the others are known") };
            if std::mem::replace(&mut self.marks.entries[entry as usize], turn) != turn {
                stack.extend(parts(&self.trace.entries[entry as usize]).into_iter().flatten());
            }
        }
        members.sort_unstable();
        let number = self.sets.number(members);
        if let Reads::Entry(entry) = operand.reads() {
            self.of[entry as usize] = number;
        }
        number
    }
}

/// Which inputs each output depends on.
pub(super) fn jacobian_pattern(found: &Traced) -> Pattern {
    let mut domains = Domains::new(&found.trace);
    let sets: Vec<u32> = found.outputs.iter().map(|output| domains.set(*output)).collect();
    let row = |(row, set): (usize, &u32)| -> Vec<(usize, usize)> {
        domains.sets.members(*set).iter().map(|column| (row, *column as usize)).collect()
    };
    Pattern::new(sets.len(), found.trace.inputs as usize, sets.iter().enumerate().flat_map(row))
}

/// Which pairs of inputs an output depends on nonlinearly: both triangles of the Hessian of a weighted sum of all outputs.
pub(super) fn hessian_pattern(found: &Traced) -> Pattern {
    let trace = &found.trace;
    let mut domains = Domains::new(trace);
    // Entries that no output depends on contribute nothing.
    let mut lives = vec![false; trace.entries.len()];
    let mark = |operand: Operand, lives: &mut [bool]| {
        if let Reads::Entry(entry) = operand.reads() {
            lives[entry as usize] = true;
        }
    };
    found.outputs.iter().for_each(|output| mark(*output, &mut lives));
    for (number, entry) in trace.entries.iter().enumerate().rev() {
        if lives[number] {
            parts(entry).into_iter().flatten().for_each(|part| mark(part, &mut lives));
        }
    }
    let (mut rules, mut pairs) = (FxHashMap::default(), FxHashSet::default());
    for (number, Entry { what, a, b }) in trace.entries.iter().enumerate() {
        let What::Compute(op) = *what else { continue };
        if !lives[number] {
            continue;
        }
        let rule: [[bool; 2]; 2] = *rules.entry(op).or_insert_with(|| bends(op));
        let operands = [*a, *b];
        for (by, and) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let is_known = [operands[by], operands[and]].iter().any(|operand| domains.known(*operand) == 0);
            if rule[by][and] && !is_known {
                let [by, and] = [by, and].map(|operand| domains.set(operands[operand]));
                pairs.insert((by.min(and), by.max(and)));
            }
        }
    }
    // The sets that contain each input.
    let n = trace.inputs as usize;
    let mut partners: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (a, b) in pairs {
        domains.sets.members(a).iter().for_each(|input| partners[*input as usize].push(b));
        domains.sets.members(b).iter().filter(|_| a != b).for_each(|input| partners[*input as usize].push(a));
    }
    let (mut met, mut entries) = (vec![usize::MAX; n], Vec::new());
    for (row, sets) in partners.iter().enumerate() {
        for column in sets.iter().flat_map(|set| domains.sets.members(*set)) {
            if std::mem::replace(&mut met[*column as usize], row) != row {
                entries.push((row, *column as usize));
            }
        }
    }
    Pattern::new(n, n, entries)
}
