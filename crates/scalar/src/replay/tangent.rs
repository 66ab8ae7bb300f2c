//! Extends a program with tangents: the derivatives of its cells along a direction of the inputs.

use super::program::Program;
use super::slopes::{Room, Slope, factors_at, slopes};
use wengert_kernels::cells::{Address, Instruction, Item, Kind, Op};

/// A program with tangents.
pub(super) struct Tangents {
    pub program: Program,
    /// The tangent of cell `c` is in cell `c + offset`.
    pub offset: u32,
}

/// The program with the tangent of every cell. Tangents of constants, and of cells that only the caller writes, are zero unless the caller
/// sets them.
pub(super) fn with_tangents(program: &Program) -> Tangents {
    let mut program = program.clone();
    let items = std::mem::take(&mut program.items);
    program.forward = None;
    let count = program.cells;
    let offset = program.take(count);
    let tangent = |address: Address| Address { base: address.base + offset, ..address };
    for item in items {
        let (trips, body) = match &item {
            Item::Straight(body) => (1, body),
            Item::Loop { trips, body, .. } => (*trips, body),
            Item::Zero { start, cells } => {
                let (start, cells) = (*start, *cells);
                program.items.extend([item, Item::Zero { start: start + offset, cells }]);
                continue;
            }
        };
        let (mut both, mut room) = (Vec::new(), Room::default());
        for one in body {
            both.push(*one);
            let (op, mut is_added) = match one.kind {
                Kind::Set(op) => (op, false),
                Kind::Add(op) => (op, true),
                Kind::Guard(..) => continue,
            };
            // The derivative of an added term reads the term's own result, which is not stored.
            let needs_result = is_added && !matches!(op, Op::Copy | Op::Neg | Op::Mul | Op::Times);
            assert!(!needs_result, "sums are of values and products");
            for (slope, operand) in slopes(op).iter().zip([one.a, one.b]) {
                let (op, a, b) = match slope {
                    Slope::Zero => continue,
                    Slope::One => (Op::Copy, tangent(operand), tangent(operand)),
                    Slope::MinusOne => (Op::Neg, tangent(operand), tangent(operand)),
                    _ => {
                        let at = [tangent(operand), one.a, one.b, one.to];
                        let [a, b] = factors_at(slope, op, at, trips, &mut program, &mut room, &mut both);
                        (Op::Times, a, b)
                    }
                };
                let kind = if is_added { Kind::Add(op) } else { Kind::Set(op) };
                both.push(Instruction { kind, to: tangent(one.to), a, b });
                is_added = true;
            }
            if !is_added {
                let zero = Address::cell(program.constant(0.0));
                both.push(Instruction { kind: Kind::Set(Op::Copy), to: tangent(one.to), a: zero, b: zero });
            }
        }
        match item {
            Item::Loop { trips, order, .. } => program.items.push(Item::Loop { trips, order, body: both }),
            _ => program.straight(both),
        }
    }
    Tangents { program, offset }
}
