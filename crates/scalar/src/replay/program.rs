//! Builds scalar programs: allocates cells, constants and parts.

use super::roll::{Block, Loop, roll};
use super::trace::{Entry, Needs, Operand, Reads, Trace, What};
use rustc_hash::FxHashMap;
use wengert_kernels::cells::{Address, Code, Instruction, Item, Kind, Op, Order};

/// A program under construction. The inputs are the first cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub items: Vec<Item>,
    pub cells: u32,
    /// Cells that never change.
    pub constants: Vec<(u32, f64)>,
    known: FxHashMap<u64, u32>,
    pub inputs: u32,
    /// The cells of the outputs.
    pub outputs: Vec<u32>,
    /// Number of parts that compute values; the parts after them compute adjoints.
    pub forward: Option<usize>,
}

impl Program {
    /// Allocates new cells.
    pub fn take(&mut self, count: u32) -> u32 {
        self.cells = self.cells.checked_add(count).expect("a program has at most 4294967295 cells");
        self.cells - count
    }

    /// The cell of a constant.
    pub fn constant(&mut self, value: f64) -> u32 {
        if let Some(cell) = self.known.get(&value.to_bits()) {
            return *cell;
        }
        let cell = self.take(1);
        self.known.insert(value.to_bits(), cell);
        self.constants.push((cell, value));
        cell
    }

    /// Appends instructions outside of any loop.
    pub fn straight(&mut self, more: impl IntoIterator<Item = Instruction>) {
        if !matches!(self.items.last(), Some(Item::Straight(_))) {
            self.items.push(Item::Straight(Vec::new()));
        }
        let Some(Item::Straight(body)) = self.items.last_mut() else { unreachable!("it was just made") };
        body.extend(more);
    }

    /// The code for values, and the code for adjoints.
    pub fn codes(&self) -> [Code; 2] {
        let (forward, reverse) = self.items.split_at(self.forward.unwrap_or(self.items.len()));
        [forward, reverse].map(|items| Code::new(self.cells as usize, items.to_vec()))
    }

    /// Builds the program of a trace, restricted to what its outputs and guards need.
    pub fn of(trace: &Trace, outputs: &[Operand]) -> Program {
        let needs = trace.needs(outputs);
        if needs.unused == 0 {
            return Program::of_used(trace, outputs, needs);
        }
        let (trace, outputs, needs) = trace.without_unused(outputs, &needs);
        Program::of_used(&trace, &outputs, needs)
    }

    fn of_used(trace: &Trace, outputs: &[Operand], needs: Needs) -> Program {
        let program = Program { inputs: trace.inputs, cells: trace.inputs, ..Program::default() };
        let (constants, tables) = (vec![None; trace.constants.len()], FxHashMap::default());
        let mut lowering = Lowering { trace, needs, places: Vec::new(), constants, tables, program };
        for block in roll(trace) {
            match block {
                Block::Straight(from, to) => lowering.straight(from, to),
                Block::Loop(found) => {
                    if !lowering.rolled(found) {
                        lowering.straight(found.start, found.end());
                    }
                }
            }
        }
        let cells = outputs.iter().map(|output| lowering.place(*output)).collect();
        Program { outputs: cells, ..lowering.program }
    }
}

/// Where the results of some entries are stored.
enum Place {
    /// Entries from `start` on are stored in consecutive cells.
    Straight { start: usize, end: usize, cell: u32 },
    /// For each of `period` entries, the results of all iterations are stored in consecutive cells.
    Loop { start: usize, end: usize, period: usize, arrays: Vec<Array> },
}

/// Where the results of one entry of a loop are stored.
#[derive(Clone, Copy)]
enum Array {
    /// In consecutive cells, from this one on.
    Cells(u32),
    /// Only the last result is kept, in this cell.
    Sum(u32),
}

impl Place {
    fn end(&self) -> usize {
        match self {
            Place::Straight { end, .. } | Place::Loop { end, .. } => *end,
        }
    }
}

struct Lowering<'t> {
    trace: &'t Trace,
    needs: Needs,
    /// Sorted by entry.
    places: Vec<Place>,
    /// The cells of the constants used so far.
    constants: Vec<Option<u32>>,
    /// The first cells of tables of constants.
    tables: FxHashMap<Vec<u32>, u32>,
    program: Program,
}

/// What an operand of a loop body refers to.
#[derive(Clone, Copy)]
enum BodyOperand {
    /// Cells outside of the loop, at a fixed stride.
    Outside(Address),
    /// The result of an entry of the body, this many iterations earlier.
    Inside { entry: usize, trips_before: usize },
}

impl Lowering<'_> {
    /// The cell of an operand.
    fn place(&mut self, operand: Operand) -> u32 {
        match operand.reads() {
            Reads::Input(number) => number,
            Reads::Constant(number) => {
                let number = number as usize;
                *self.constants[number].get_or_insert_with(|| self.program.constant(self.trace.constants[number]))
            }
            Reads::Entry(entry) => self.entry(entry as usize),
        }
    }

    /// The first cell of a table of constants, with one entry per iteration of a loop.
    fn table(&mut self, numbers: Vec<u32>) -> u32 {
        if let Some(first) = self.tables.get(&numbers) {
            return *first;
        }
        let first = self.program.take(numbers.len() as u32);
        let values = numbers.iter().map(|number| self.trace.constants[*number as usize]);
        self.program.constants.extend((first..).zip(values));
        self.tables.insert(numbers, first);
        first
    }

    fn entry(&self, entry: usize) -> u32 {
        let place = self.places.partition_point(|place| place.end() <= entry);
        match &self.places[place] {
            Place::Straight { start, cell, .. } => cell + (entry - start) as u32,
            Place::Loop { start, period, arrays, .. } => {
                let (trip, number) = ((entry - start) / period, (entry - start) % period);
                match arrays[number] {
                    Array::Cells(first) => first + trip as u32,
                    Array::Sum(cell) => cell,
                }
            }
        }
    }

    fn straight(&mut self, from: usize, to: usize) {
        let cell = self.program.take((to - from) as u32);
        self.places.push(Place::Straight { start: from, end: to, cell });
        let trace = self.trace;
        let lower = |(number, entry): (usize, &Entry)| {
            let [a, b] = [entry.a, entry.b].map(|operand| Address::cell(self.place(operand)));
            instruction(entry.what, Address::cell(cell + number as u32), a, b)
        };
        let body: Vec<Instruction> = trace.entries[from..to].iter().enumerate().map(lower).collect();
        self.program.straight(body);
    }

    /// Appends a loop. Fails if an operand does not advance by a fixed stride.
    fn rolled(&mut self, found: Loop) -> bool {
        let (Loop { start, period, trips, .. }, trace) = (found, self.trace);
        let body = &trace.entries[start..start + period];
        let mut sources = Vec::with_capacity(period);
        for number in 0..period {
            let entries = || trace.entries[start + number..].iter().step_by(period).take(trips);
            let a = self.source(entries().map(|entry| entry.a), found);
            let (Some(a), Some(b)) = (a, self.source(entries().map(|entry| entry.b), found)) else { return false };
            sources.push([a, b]);
        }
        let chains = self.sums(found, &sources);
        // The cells before an entry's first iteration hold the values from before the loop that later iterations read.
        let mut before = vec![0; period];
        for source in sources.iter().flatten() {
            if let BodyOperand::Inside { entry, trips_before } = *source {
                before[entry] = trips_before.max(before[entry]);
            }
        }
        let mut arrays = Vec::with_capacity(period);
        for (number, entry) in body.iter().enumerate() {
            let array = match (chains[number], entry.what) {
                (Some(head), _) if head != number => arrays[head],
                (Some(_), _) => Array::Sum(self.program.take(1)),
                (None, What::Guard(..)) => Array::Cells(0),
                (None, What::Compute(_)) => {
                    Array::Cells(self.program.take((before[number] + trips) as u32) + before[number] as u32)
                }
            };
            arrays.push(array);
        }
        let first = |entry: usize| match arrays[entry] {
            Array::Cells(cell) | Array::Sum(cell) => cell,
        };
        let mut starts = Vec::new();
        for (number, array) in arrays.iter().enumerate() {
            match (array, chains[number]) {
                (Array::Cells(cell), _) => {
                    for trips_before in 1..=before[number] {
                        let value = self.entry(start + number - trips_before * period);
                        starts.push(copy(cell - trips_before as u32, value));
                    }
                }
                (Array::Sum(cell), Some(head)) if head == number => {
                    let Reads::Entry(value) = body[number].a.reads() else {
                        unreachable!("a sum goes on from an entry")
                    };
                    starts.push(copy(*cell, self.entry(value as usize)));
                }
                (Array::Sum(_), _) => {}
            }
        }
        let address = |source: BodyOperand| match source {
            BodyOperand::Outside(address) => address,
            BodyOperand::Inside { entry, trips_before } => {
                Address { base: first(entry) - trips_before as u32, stride: 1 }
            }
        };
        let lower = |(number, entry): (usize, &Entry)| {
            let [a, b] = sources[number].map(address);
            match (entry.what, chains[number]) {
                (What::Compute(op), Some(_)) => {
                    let kind = Kind::Add(if op == Op::Sub { Op::Neg } else { Op::Copy });
                    Instruction { kind, to: Address::cell(first(number)), a: b, b }
                }
                (what, _) => instruction(what, Address { base: first(number), stride: 1 }, a, b),
            }
        };
        let body: Vec<Instruction> = body.iter().enumerate().map(lower).collect();
        let waits = sources.iter().zip(&chains).filter(|(_, chain)| chain.is_none()).flat_map(|(sources, _)| sources);
        let waits = waits.into_iter().any(|source| matches!(source, BodyOperand::Inside { trips_before: 1.., .. }));
        let order = if waits { Order::Forward } else { Order::Lanes };
        self.places.push(Place::Loop { start, end: found.end(), period, arrays });
        self.program.straight(starts);
        self.program.items.push(Item::Loop { trips: trips as u32, order, body });
        true
    }

    /// Classifies an operand, which is given for every iteration.
    fn source(&mut self, each: impl Iterator<Item = Operand> + Clone, found: Loop) -> Option<BodyOperand> {
        let (Loop { start, period, trips, has_tables }, mut operands) = (found, each.clone());
        let (from, to) = (operands.next()?, operands.next()?);
        let (first, second) = match (from.reads(), to.reads()) {
            (Reads::Entry(first), Reads::Entry(second)) => (first as usize, second as usize),
            (Reads::Input(first), Reads::Input(second)) => {
                let stride = (i64::from(second) - i64::from(first)) as i32;
                return Some(BodyOperand::Outside(Address { base: first, stride }));
            }
            _ if !has_tables || each.clone().all(|operand| operand == from) => {
                return Some(BodyOperand::Outside(Address::cell(self.place(from))));
            }
            _ => {
                let constant = |operand: Operand| match operand.reads() {
                    Reads::Constant(number) => Some(number),
                    _ => None,
                };
                let base = self.table(each.map(constant).collect::<Option<Vec<u32>>>()?);
                return Some(BodyOperand::Outside(Address { base, stride: 1 }));
            }
        };
        let last = first as i64 + (second as i64 - first as i64) * (trips as i64 - 1);
        if last < start as i64 && first < start {
            // All of them are computed before the loop: their cells must have a fixed stride as well.
            let (base, next) = (self.entry(first), self.entry(second));
            let stride = i64::from(next) - i64::from(base);
            let is_even = |trip: i64| {
                let entry = first as i64 + (second as i64 - first as i64) * trip;
                i64::from(self.entry(entry as usize)) == i64::from(base) + stride * trip
            };
            return (2..trips as i64)
                .all(is_even)
                .then_some(BodyOperand::Outside(Address { base, stride: stride as i32 }));
        }
        if second != first + period {
            return None;
        }
        let trips_before = start.saturating_sub(first).div_ceil(period);
        let entry = first + trips_before * period - start;
        // Values read from before the loop must be results; so must values read inside.
        let computes = |entry: usize| matches!(self.trace.entries[entry].what, What::Compute(_));
        (computes(first) && computes(start + entry)).then_some(BodyOperand::Inside { entry, trips_before })
    }

    /// For every entry of the body, the head of the chain of additions that it belongs to: a sum over the iterations of which only the
    /// final value is used, and on which no decision depends.
    fn sums(&self, found: Loop, sources: &[[BodyOperand; 2]]) -> Vec<Option<usize>> {
        let Loop { start, period, trips, .. } = found;
        let mut chains = vec![None; period];
        let body = &self.trace.entries[start..start + period];
        let adds = |number: usize| matches!(body[number].what, What::Compute(Op::Add | Op::Sub));
        let goes_on = |number: usize, from: usize, before: usize| match sources[number] {
            [BodyOperand::Inside { entry, trips_before }, _] => adds(number) && (entry, trips_before) == (from, before),
            _ => false,
        };
        for (head, source) in sources.iter().enumerate() {
            let [BodyOperand::Inside { entry: tail, trips_before: 1 }, _] = *source else { continue };
            let mut chain = vec![head];
            while *chain.last().expect("it has a head") != tail {
                let last = *chain.last().expect("it has a head");
                match (last + 1..period).find(|&number| goes_on(number, last, 0)) {
                    Some(number) => chain.push(number),
                    None => break,
                }
            }
            let ends = chain.last() == Some(&tail) && adds(head);
            let is_read_once = |&number: &usize| {
                let all = if number == tail { trips - 1 } else { trips };
                let decides = (0..trips).any(|trip| self.needs.decides[start + trip * period + number]);
                !decides && (0..all).all(|trip| self.needs.uses[start + trip * period + number] == 1)
            };
            if ends && chain.iter().all(is_read_once) {
                chain.into_iter().for_each(|number| chains[number] = Some(head));
            }
        }
        chains
    }
}

fn copy(to: u32, from: u32) -> Instruction {
    let from = Address::cell(from);
    Instruction { kind: Kind::Set(Op::Copy), to: Address::cell(to), a: from, b: from }
}

fn instruction(what: What, to: Address, a: Address, b: Address) -> Instruction {
    match what {
        What::Compute(op) => Instruction { kind: Kind::Set(op), to, a, b },
        What::Guard(relation, held) => Instruction { kind: Kind::Guard(relation, held), to: a, a, b },
    }
}
