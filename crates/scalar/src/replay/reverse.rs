//! The reverse of a program: what every cell contributes to the outputs, from the last instruction to the first.

use super::program::Program;
use super::slopes::{Room, Slope, slope_at, slopes};
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
    for item in &program.items {
        let (trips, body) = match item {
            Item::Straight(body) => (1, body),
            Item::Loop { trips, body, .. } => (*trips, body),
            Item::Zero { .. } => continue,
        };
        for trip in 0..i64::from(trips) {
            for one in body {
                let (Kind::Set(op) | Kind::Add(op)) = one.kind else { continue };
                let reads =
                    |address: Address, slope: &Slope| !matches!(slope, Slope::Zero) && active[cell(address, trip)];
                let [by_a, by_b] = slopes(op);
                if reads(one.a, &by_a) || reads(one.b, &by_b) {
                    active[cell(one.to, trip)] = true;
                }
            }
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
    // Seeds come in from outside, so that the adjoints of all cells can be made zero first.
    let seeds: Vec<u32> = program.outputs.clone().iter().map(|_| program.take(1)).collect();
    program.items.push(Item::Zero { start: adjoints, cells: count });
    let adjoint = |address: Address| Address { base: address.base + adjoints, ..address };
    let seeded = program.outputs.iter().zip(&seeds).map(|(output, seed)| Instruction {
        kind: Kind::Add(Op::Copy),
        to: adjoint(Address::cell(*output)),
        a: Address::cell(*seed),
        b: Address::cell(*seed),
    });
    let seeded: Vec<Instruction> = seeded.collect();
    program.straight(seeded);
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
                let (kind, b) = match slope {
                    Slope::One => (Kind::Add(Op::Copy), from),
                    Slope::MinusOne => (Kind::Add(Op::Neg), from),
                    _ => {
                        let at = [one.a, one.b, one.to];
                        (Kind::Add(Op::Times), slope_at(slope, op, at, trips, &mut program, &mut room, &mut back))
                    }
                };
                back.push(Instruction { kind, to, a: from, b });
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
    Reversed { program, inputs: adjoints, seeds }
}
