//! The reverse of a program: propagates adjoints from the last instruction to the first.

use super::program::Program;
use super::slopes::{Room, Slope, factors_at, slopes};
use crate::functions;
use std::ops::Range;
use wengert_kernels::cells::{Address, Instruction, Item, Kind, Op, Order};

/// A program with its reverse.
pub(super) struct Reversed {
    pub program: Program,
    /// The cells of the input adjoints, and those of the output adjoints: the seeds, which the caller writes before every run.
    pub inputs: u32,
    pub seeds: Vec<u32>,
}

/// Which cells depend on the first `inputs` inputs.
fn active(program: &Program, inputs: u32) -> Vec<bool> {
    let mut active = vec![false; program.cells as usize];
    active[..inputs as usize].fill(true);
    let mut pass = |one: &Instruction, trips: Range<u32>| {
        let (Kind::Set(op) | Kind::Add(op)) = one.kind else { return };
        let [by_a, by_b] = slopes(op).map(|slope| !matches!(slope, Slope::Zero));
        for trip in trips.map(i64::from) {
            if by_a && active[cell(one.a, trip)] || by_b && active[cell(one.b, trip)] {
                active[cell(one.to, trip)] = true;
            }
        }
    };
    for item in &program.items {
        match item {
            Item::Straight(body) => body.iter().for_each(|one| pass(one, 0..1)),
            Item::Loop { trips, order: Order::Lanes, body } => body.iter().for_each(|one| pass(one, 0..*trips)),
            Item::Loop { trips, body, .. } => {
                (0..*trips).for_each(|trip| body.iter().for_each(|one| pass(one, trip..trip + 1)));
            }
            Item::Zero { .. } => {}
        }
    }
    active
}

fn cell(address: Address, trip: i64) -> usize {
    (i64::from(address.base) + i64::from(address.stride) * trip) as usize
}

/// Appends the reverse of a program to it, for its first inputs.
pub(super) fn reversed(program: &Program, inputs: u32) -> Reversed {
    reverse(program, inputs, false)
}

/// The same, for a program that will be differentiated again. The gradient of a length is not differentiable where the length is 0,
/// whatever the adjoint.
pub(super) fn reversed_with_kinks(program: &Program, inputs: u32) -> Reversed {
    reverse(program, inputs, true)
}

fn reverse(program: &Program, inputs: u32, has_kinks: bool) -> Reversed {
    let (active, forward) = (active(program, inputs), program.items.clone());
    let mut program = program.clone();
    program.forward = Some(forward.len());
    let count = program.cells;
    let adjoints = program.take(count);
    // Seeds are set from outside: the previous contents of an adjoint do not matter.
    let seeds: Vec<u32> = program.outputs.clone().iter().map(|_| program.take(1)).collect();
    let adjoint = |address: Address| Address { base: address.base + adjoints, ..address };
    let seeded = program.outputs.iter().zip(&seeds).map(|(output, seed)| Instruction {
        kind: Kind::Add(Op::Copy),
        to: adjoint(Address::cell(*output)),
        a: Address::cell(*seed),
        b: Address::cell(*seed),
    });
    let seeded: Vec<Instruction> = seeded.collect();
    program.items.push(Item::Straight(seeded));
    for item in forward.iter().rev() {
        let (trips, body) = match item {
            Item::Straight(body) => (1, body),
            Item::Loop { trips, body, .. } => (*trips, body),
            Item::Zero { .. } => continue,
        };
        let (mut back, mut room) = (Vec::new(), Room::default());
        for one in body.iter().rev() {
            let (Kind::Set(op) | Kind::Add(op)) = one.kind else { continue };
            for (slope, operand) in slopes(op).iter().zip([one.a, one.b]) {
                let is_active = (0..i64::from(trips)).any(|trip| active[cell(operand, trip)]);
                if !is_active || matches!(slope, Slope::Zero) {
                    continue;
                }
                let (to, from) = (adjoint(operand), adjoint(one.to));
                let (kind, [a, b]) = match slope {
                    Slope::One => (Kind::Add(Op::Copy), [from; 2]),
                    Slope::MinusOne => (Kind::Add(Op::Neg), [from; 2]),
                    _ => {
                        let at = [from, one.a, one.b, one.to];
                        let factors = factors_at(slope, op, at, trips, &mut program, &mut room, &mut back);
                        (Kind::Add(Op::Times), factors)
                    }
                };
                back.push(Instruction { kind, to, a, b });
                if has_kinks && op == Op::Hypot {
                    // This is always 0, but at the origin its derivative is NaN.
                    let at = [operand, one.a, one.b, one.to];
                    let kink = Slope::Formula(|_, _, _, length| functions::kink(length));
                    let [a, b] = factors_at(&kink, op, at, trips, &mut program, &mut room, &mut back);
                    back.push(Instruction { kind: Kind::Add(Op::Times), to, a, b });
                }
            }
        }
        match item {
            Item::Loop { order, .. } => {
                let order = if *order == Order::Forward { Order::Backward } else { *order };
                program.items.push(Item::Loop { trips, order, body: back });
            }
            _ => program.straight(back),
        }
    }
    let zeros = begin(&mut program.items[forward.len()..], adjoints, count, inputs);
    program.items.splice(forward.len()..forward.len(), zeros);
    Reversed { program, inputs: adjoints, seeds }
}

/// What is known about an adjoint before an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Untouched,
    Written,
    /// It is read, or added to by a loop, before anything was written to it.
    Zero,
}

/// Gaps of up to this many cells are zeroed too, so that fewer ranges are cleared.
const GAP: u32 = 8;

/// The range of cells that an address covers in a loop, including the gaps between them. There is at least one iteration.
fn cells(address: Address, trips: u32) -> Range<usize> {
    let (first, last) = (address.base as usize, cell(address, i64::from(trips.max(1)) - 1));
    first.min(last)..first.max(last) + 1
}

/// Finds the instructions of a loop that add to consecutive cells which nothing else in the loop touches before them, apart from later
/// instructions of the same iteration. They are the first to add to their cells, in whatever order the iterations run.
fn first_to_add(body: &[Instruction], trips: u32) -> Vec<usize> {
    // Every address with its first access: twice the number of the instruction, plus one if it writes.
    let mut touched: Vec<(Range<usize>, Address, usize)> = Vec::with_capacity(3 * body.len());
    for (number, one) in body.iter().enumerate() {
        for (address, first) in [(one.a, 2 * number), (one.b, 2 * number), (one.to, 2 * number + 1)] {
            touched.push((cells(address, trips), address, first));
        }
    }
    touched.sort_unstable_by_key(|(cells, address, first)| (cells.start, cells.end, address.stride, *first));
    touched.dedup_by_key(|(_, address, _)| *address);
    let (mut end, mut found) = (0, Vec::new());
    for (place, (cells, address, first)) in touched.iter().enumerate() {
        let is_alone = cells.start >= end && touched.get(place + 1).is_none_or(|(next, ..)| next.start >= cells.end);
        let adds = first % 2 == 1 && matches!(body[first / 2].kind, Kind::Add(_));
        if is_alone && adds && address.stride.abs() == 1 {
            found.push(first / 2);
        }
        end = end.max(cells.end);
    }
    found
}

/// Turns the first addition to each adjoint into an assignment. Returns the instructions that zero the other adjoints: those that loops add
/// to more than once, and those of `inputs` that nothing contributes to.
fn begin(items: &mut [Item], adjoints: u32, count: u32, inputs: u32) -> Vec<Item> {
    let mut starts = vec![Start::Untouched; count as usize];
    // Whether all of these adjoints were untouched; if not, they are not marked as written. Zeroing some gaps unnecessarily does no harm.
    let mut place = |address: Address, start: Start, trips: u32| {
        let cells = cells(address, trips);
        let first = cells.start.checked_sub(adjoints as usize);
        let starts = first.and_then(|first| starts.get_mut(first..first + cells.len())).unwrap_or_default();
        let is_first = !starts.is_empty() && starts.iter().all(|known| *known == Start::Untouched);
        if is_first || start == Start::Zero {
            starts.iter_mut().filter(|known| **known == Start::Untouched).for_each(|known| *known = start);
        }
        is_first
    };
    for item in items {
        let trips = if let Item::Loop { trips, .. } = item { *trips } else { 1 };
        match item {
            Item::Straight(body) => {
                for one in body {
                    place(one.a, Start::Zero, 1);
                    place(one.b, Start::Zero, 1);
                    if let (true, Kind::Add(op)) = (place(one.to, Start::Written, 1), one.kind) {
                        one.kind = Kind::Set(op);
                    }
                }
            }
            Item::Loop { body, .. } => {
                for number in first_to_add(body, trips) {
                    let one = &mut body[number];
                    if let (true, Kind::Add(op)) = (place(one.to, Start::Written, trips), one.kind) {
                        one.kind = Kind::Set(op);
                    }
                }
                for address in body.iter().flat_map(|one| [one.a, one.b, one.to]) {
                    place(address, Start::Zero, trips);
                }
            }
            Item::Zero { .. } => {}
        }
    }
    place(Address { base: adjoints, stride: 1 }, Start::Zero, inputs);
    let (mut zeros, mut end): (Vec<Item>, u32) = (Vec::new(), adjoints);
    for alike in starts.chunk_by(|a, b| a == b) {
        let first = end;
        end += alike.len() as u32;
        if alike[0] == Start::Zero {
            match zeros.last_mut() {
                Some(Item::Zero { start, cells }) if first - *start - *cells <= GAP => *cells = end - *start,
                _ => zeros.push(Item::Zero { start: first, cells: end - first }),
            }
        }
    }
    zeros
}

#[cfg(test)]
mod tests {
    use super::super::symbol::traced;
    use super::*;
    use crate::{Real, Symbol};

    /// How many adjoints the reverse of a function sets to zero.
    fn zeros(f: impl Fn(&[Symbol]) -> Symbol, n: usize) -> u32 {
        let x: Vec<f64> = (0..n).map(|i| 0.5 + i as f64 / 1e4).collect();
        let found = traced(&x, f, |y| vec![y]);
        let program = Program::of(&found.trace, &found.outputs);
        assert!(program.items.iter().any(|item| matches!(item, Item::Loop { .. })), "{:?}", program.items);
        let reversed = reversed(&program, n as u32).program;
        let zero = |item: &Item| if let Item::Zero { cells, .. } = item { *cells } else { 0 };
        reversed.items.iter().map(zero).sum()
    }

    #[test]
    fn what_a_loop_writes_first_need_not_be_zero() {
        let sum = |terms: &mut dyn Iterator<Item = Symbol>| terms.fold(Symbol::from(0.0), |sum, term| sum + term);
        // Every cell has one contribution, or several within one iteration.
        assert!(zeros(|x| sum(&mut x.iter().map(|x| (*x * *x).sin())), 100) <= 8);
        assert!(zeros(|x| sum(&mut x.iter().map(|x| x.sin() * x.cos() + *x)), 100) <= 8);
        // Inputs get contributions from two iterations, so they are zeroed; values computed from them need not be.
        let pairs = zeros(|x| sum(&mut x.windows(2).map(|pair| (pair[0] * pair[1]).sin())), 100);
        assert!((90..=108).contains(&pairs), "{pairs}");
        // Every other input gets a contribution, and all of them are read.
        let others = zeros(|x| sum(&mut x.chunks_exact(2).map(|pair| pair[0].sin())), 100);
        assert!((90..=108).contains(&others), "{others}");
    }
}
