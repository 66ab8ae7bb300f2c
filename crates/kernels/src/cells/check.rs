//! Checks that make it safe to run a program without bounds checks.

use super::{Address, Instruction, Item, Kind, Order};

/// The first and the last cell of an address over all iterations.
fn range(address: Address, trips: u32) -> (i64, i64) {
    let (first, last) =
        (i64::from(address.base), i64::from(address.base) + i64::from(address.stride) * (i64::from(trips) - 1));
    (first.min(last), first.max(last))
}

fn expect_within(address: Address, trips: u32, cells: usize) {
    let (low, high) = range(address, trips);
    assert!(low >= 0 && high < cells as i64, "cells {low} to {high} of {cells}");
}

/// Whether two addresses are the same cell in some iteration.
pub(super) fn meet(a: Address, b: Address, trips: u32) -> bool {
    let (apart, closing) = (i64::from(b.base) - i64::from(a.base), i64::from(a.stride) - i64::from(b.stride));
    let (apart, closing) = (apart * closing.signum(), closing.abs());
    match closing {
        0 => a.base == b.base,
        // The division comes last because it is rarely needed.
        _ => (0..closing.saturating_mul(trips.into())).contains(&apart) && apart % closing == 0,
    }
}

fn overlap(a: Address, b: Address, trips: u32) -> bool {
    let (a, b) = (range(a, trips), range(b, trips));
    a.0 <= b.1 && b.0 <= a.1
}

pub(super) fn expect_fits(cells: usize, items: &[Item]) {
    assert!(u32::try_from(cells).is_ok(), "a program has at most 4294967295 cells");
    for item in items {
        let (trips, order, body) = match item {
            Item::Zero { start, cells: count } => {
                assert!(*start as usize + *count as usize <= cells, "zeros behind the last cell");
                continue;
            }
            Item::Straight(body) => (1, Order::Forward, body),
            Item::Loop { trips: 0, .. } => continue,
            Item::Loop { trips, order, body } => (*trips, *order, body),
        };
        body.iter().for_each(|instruction| expect_instruction(instruction, trips, order, cells));
    }
}

fn expect_instruction(one: &Instruction, trips: u32, order: Order, cells: usize) {
    let Instruction { kind, to, a, b } = *one;
    match kind {
        Kind::Guard(..) => [a, b].into_iter().for_each(|address| expect_within(address, trips, cells)),
        Kind::Set(_) | Kind::Add(_) => {
            [to, a, b].into_iter().for_each(|address| expect_within(address, trips, cells));
            let apart = |operand: Address| match order {
                Order::Lanes => !overlap(to, operand, trips),
                Order::Forward | Order::Backward => !meet(to, operand, trips),
            };
            assert!(apart(a) && apart(b), "an instruction writes what it reads");
            let is_one = order == Order::Lanes && to.stride == 0 && trips > 1;
            assert!(!(is_one && matches!(kind, Kind::Set(_))), "trips in lanes set one cell");
        }
    }
}
