//! The reverse of a program: what every cell contributes to the outputs, from the last instruction to the first.

use super::program::Program;
use super::slopes::{Room, Slope, factors_at, slopes};
use std::ops::Range;
use wengert_kernels::cells::{Address, Instruction, Item, Kind, Op, Order};

/// A program with its reverse.
pub(super) struct Reversed {
    pub program: Program,
    /// The cells of the adjoints of inputs, and of outputs: seeds, which the caller writes before every run.
    pub inputs: u32,
    pub seeds: Vec<u32>,
}

/// Which cells depend on the first inputs by more than constants.
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

/// The reverse of a program, behind it, for its first inputs.
pub(super) fn reversed(program: &Program, inputs: u32) -> Reversed {
    let (active, forward) = (active(program, inputs), program.items.clone());
    let mut program = program.clone();
    program.forward = Some(forward.len());
    let count = program.cells;
    let adjoints = program.take(count);
    // Seeds come in from outside: what an adjoint was before does not matter.
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

/// What is known of an adjoint before an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Untouched,
    Written,
    /// Something reads it, or a loop adds to it, that nothing wrote before.
    Zero,
}

/// Cells that become zero at once, even if some of them need not.
const GAP: u32 = 8;

/// Makes the first contribution to an adjoint its value. The others, which must be zero before, are what this gives: those that loops
/// add to, and those of `inputs` that nothing contributes to.
fn begin(items: &mut [Item], adjoints: u32, count: u32, inputs: u32) -> Vec<Item> {
    let mut starts = vec![Start::Untouched; count as usize];
    let mut place = |address: Address, start: Start, trips: u32| {
        let (first, last) = (i64::from(address.base), cell(address, i64::from(trips) - 1) as i64);
        // Steps over cells between them: that some are zero for nothing does no harm.
        let cells = first.min(last) - i64::from(adjoints)..=first.max(last) - i64::from(adjoints);
        let cells = (*cells.start()).max(0) as usize..(*cells.end() + 1).clamp(0, i64::from(count)) as usize;
        let starts = starts.get_mut(cells).unwrap_or_default();
        let is_first = starts.contains(&Start::Untouched);
        starts.iter_mut().filter(|known| **known == Start::Untouched).for_each(|known| *known = start);
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
