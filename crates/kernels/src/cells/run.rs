//! Runs a program: one number after the other, many iterations at a time, or many points at a time.

use super::op::times;
use super::{Address, Code, Flipped, Instruction, Item, Kind, LANES, Op, Order, is_short};
use crate::map::{loop2_in_place, loop3_in_place};
use crate::simd::vectorised;

/// Iterations of a loop in lanes that are computed at a time, so that their cells stay in the cache.
const TILE: usize = 256;

impl Code {
    /// Runs the program on one number for each cell, up to the first guard that fails. Panics if `cells` is too short.
    pub fn run(&self, cells: &mut [f64]) -> Result<(), Flipped> {
        self.expect_all(cells);
        // SAFETY: there are at least `self.cells` cells.
        (0..self.items.len()).try_for_each(|number| unsafe { self.run_item(number, cells) })
    }

    /// Panics unless there is a number for each cell.
    pub(super) fn expect_all(&self, cells: &[f64]) {
        assert!(cells.len() >= self.cells, "{} of {} cells", cells.len(), self.cells);
    }

    /// Runs one item.
    ///
    /// # Safety
    /// `cells` has at least `self.cells` numbers.
    pub(super) unsafe fn run_item(&self, number: usize, cells: &mut [f64]) -> Result<(), Flipped> {
        let flipped = |(instruction, trip)| Flipped { item: number, instruction, trip };
        // SAFETY: only `Code::new` makes a `Code`, and it passed every item to `check::expect_fits`: the addresses of instructions lie
        // below `self.cells` in all iterations, and instructions of a loop in lanes write nothing that they read in any iteration.
        unsafe {
            match &self.items[number] {
                Item::Zero { start, cells: count } => cells[*start as usize..][..*count as usize].fill(0.0),
                Item::Straight(body) => straight(body, cells).map_err(|number| flipped((number, 0)))?,
                Item::Loop { trips: count, order: Order::Lanes, body } if !is_short(*count, body) => {
                    for first in (0..*count as usize).step_by(TILE) {
                        let count = TILE.min(*count as usize - first);
                        tile(body, first, count, cells).map_err(flipped)?;
                    }
                }
                Item::Loop { trips: count, order, body } => {
                    trips(body, *count as usize, *order == Order::Backward, cells).map_err(flipped)?;
                }
            }
        }
        Ok(())
    }

    /// Runs the program on [`LANES`] adjacent numbers for each cell. `flipped` is set for the points where a guard failed; their results
    /// are meaningless. Panics if `cells` is too short.
    pub fn run_points(&self, cells: &mut [f64], flipped: &mut [bool; LANES]) {
        assert!(
            cells.len() / LANES >= self.cells,
            "{} of {} cells of {LANES} numbers",
            cells.len() / LANES,
            self.cells
        );
        let one = |body: &[Instruction], trip: usize, cells: &mut [f64], flipped: &mut [bool; LANES]| {
            // SAFETY: `check::expect_fits` checked, when the program was built, that addresses lie below `self.cells` in every iteration,
            // and that no instruction writes what it reads in the same iteration. There are `LANES` numbers for each cell.
            body.iter().for_each(|instruction| unsafe { points(instruction, trip, cells, flipped) });
        };
        for item in self.items.iter() {
            match item {
                Item::Zero { start, cells: count } => {
                    cells[*start as usize * LANES..][..*count as usize * LANES].fill(0.0);
                }
                Item::Straight(body) => one(body, 0, cells, flipped),
                Item::Loop { trips, order: Order::Backward, body } => {
                    (0..*trips as usize).rev().for_each(|trip| one(body, trip, cells, flipped));
                }
                Item::Loop { trips, body, .. } => {
                    (0..*trips as usize).for_each(|trip| one(body, trip, cells, flipped));
                }
            }
        }
    }
}

/// Runs straight-line instructions on cells that do not move. The error is the guard that failed.
///
/// # Safety
/// The bases of operands, and of results that are written, lie in `cells`.
unsafe fn straight(body: &[Instruction], cells: &mut [f64]) -> Result<(), usize> {
    let memory = cells.as_mut_ptr();
    for (number, one) in body.iter().enumerate() {
        // A guard writes nothing, so its `to` may be arbitrary.
        let to = memory.wrapping_add(one.to.base as usize);
        // SAFETY: `a` and `b` lie in `cells`, and so does `to` where it is written. `memory` points to the first cell, and no other
        // reference to the cells is in use here.
        unsafe {
            let (a, b) = (*memory.add(one.a.base as usize), *memory.add(one.b.base as usize));
            match one.kind {
                Kind::Set(op) => *to = op.apply(a, b),
                Kind::Add(op) => *to += op.apply(a, b),
                Kind::Guard(relation, held) if relation.holds(a, b) != held => return Err(number),
                Kind::Guard(..) => {}
            }
        }
    }
    Ok(())
}

/// Runs instructions one after the other, iteration by iteration. The error is the instruction and iteration of the guard that failed.
///
/// # Safety
/// In all iterations before `count`, the addresses of operands, and of results that are written, lie in `cells`.
unsafe fn trips(body: &[Instruction], count: usize, backward: bool, cells: &mut [f64]) -> Result<(), (usize, usize)> {
    let memory = cells.as_mut_ptr();
    for trip in 0..count {
        let trip = if backward { count - 1 - trip } else { trip };
        for (number, one) in body.iter().enumerate() {
            // SAFETY: `trip < count`, so `at(trip)` of operands, and of results that are written, lies in `cells`, which starts at
            // `memory`.
            unsafe {
                match one.kind {
                    Kind::Set(op) => {
                        let value = op.apply(*memory.add(one.a.at(trip)), *memory.add(one.b.at(trip)));
                        *memory.add(one.to.at(trip)) = value;
                    }
                    Kind::Add(op) => {
                        let value = op.apply(*memory.add(one.a.at(trip)), *memory.add(one.b.at(trip)));
                        *memory.add(one.to.at(trip)) += value;
                    }
                    Kind::Guard(relation, held) => {
                        if relation.holds(*memory.add(one.a.at(trip)), *memory.add(one.b.at(trip))) != held {
                            return Err((number, trip));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// The cells of some iterations as a slice: in place if they are adjacent, otherwise copied to `room`.
///
/// # Safety
/// `memory` points to cells that contain the address in the iterations `first..first + room.len()`, and nothing writes those while the
/// slice is in use.
#[inline(always)]
unsafe fn lane(memory: *const f64, address: Address, first: usize, room: &mut [f64]) -> &[f64] {
    // SAFETY: each address read is that of an iteration from `first` on, of which there are `room.len()`; with a stride of 1 they are
    // adjacent. `TILE` is not zero, so an address with a stride of 0 is that of some iteration.
    unsafe {
        match address.stride {
            1 => return std::slice::from_raw_parts(memory.add(address.at(first)), room.len()),
            0 => room.fill(*memory.add(address.base as usize)),
            _ => (first..).zip(&mut *room).for_each(|(trip, room)| *room = *memory.add(address.at(trip))),
        }
    }
    room
}

vectorised! {
    /// Sums in eight lanes, so that the loop vectorises.
    fn total[](x: &[f64]) -> f64 {
        let mut parts = [0.0; 8];
        let (whole, rest) = x.as_chunks::<8>();
        for chunk in whole {
            for (part, x) in parts.iter_mut().zip(chunk) {
                *part += x;
            }
        }
        for (part, x) in parts.iter_mut().zip(rest) {
            *part += x;
        }
        let halves = [0, 1, 2, 3].map(|i| parts[i] + parts[i + 4]);
        (halves[0] + halves[2]) + (halves[1] + halves[3])
    }
}

/// Runs every instruction over `count` iterations from `first` on.
///
/// # Safety
/// In the iterations `first..first + count`, of which there are between 1 and [`TILE`], the addresses of operands, and of results that are
/// written, lie in `cells`. No cell that an instruction writes in one of them is read by it in any of them.
unsafe fn tile(body: &[Instruction], first: usize, count: usize, cells: &mut [f64]) -> Result<(), (usize, usize)> {
    let mut rooms = [[0.0; TILE]; 3];
    let [room_a, room_b, room_to] = &mut rooms;
    let memory = cells.as_mut_ptr();
    for (number, one) in body.iter().enumerate() {
        // SAFETY: the addresses of these iterations lie in `cells`, which starts at `memory`. `a` and `b` may be slices of `cells`. `to` is
        // disjoint from both over all iterations, so the slice that is written overlaps none that is read.
        unsafe {
            match one.kind {
                Kind::Guard(relation, held) => {
                    let a = lane(memory, one.a, first, &mut room_a[..count]);
                    let b = lane(memory, one.b, first, &mut room_b[..count]);
                    let flipped = a.iter().zip(b).position(|(a, b)| relation.holds(*a, *b) != held);
                    if let Some(trip) = flipped {
                        return Err((number, first + trip));
                    }
                }
                Kind::Set(op) | Kind::Add(op) => {
                    let a = lane(memory, one.a, first, &mut room_a[..count]);
                    let b = if one.b == one.a { a } else { lane(memory, one.b, first, &mut room_b[..count]) };
                    let is_added = matches!(one.kind, Kind::Add(_));
                    if one.to.stride == 1 {
                        let to = std::slice::from_raw_parts_mut(memory.add(one.to.at(first)), count);
                        apply(op, is_added, a, b, to, &mut room_to[..count]);
                        continue;
                    }
                    op.apply_all(a, b, &mut room_to[..count]);
                    let results = &room_to[..count];
                    match (one.to.stride, is_added) {
                        (0, true) => *memory.add(one.to.base as usize) += total(results),
                        (0, false) => *memory.add(one.to.base as usize) = results[count - 1],
                        (_, true) => {
                            (first..).zip(results).for_each(|(trip, result)| *memory.add(one.to.at(trip)) += result);
                        }
                        (_, false) => {
                            (first..).zip(results).for_each(|(trip, result)| *memory.add(one.to.at(trip)) = *result);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Writes results to their destination, or adds them to it.
fn apply(op: Op, is_added: bool, a: &[f64], b: &[f64], to: &mut [f64], room: &mut [f64]) {
    match (is_added, op) {
        (false, _) => op.apply_all(a, b, to),
        (true, Op::Copy) => loop2_in_place(to, a, |to, a| to + a),
        (true, Op::Mul) => loop3_in_place(to, a, b, |to, a, b| to + a * b),
        (true, Op::Times) => loop3_in_place(to, a, b, |to, a, b| to + times(a, b)),
        (true, _) => {
            op.apply_all(a, b, room);
            loop2_in_place(to, room, |to, room| to + room);
        }
    }
}

/// Runs one instruction at all points.
///
/// # Safety
/// In this iteration, [`LANES`] numbers for each address of an operand, and of a result that is written, lie in `cells`. The result is not
/// one of the operands.
#[inline(always)]
unsafe fn points(one: &Instruction, trip: usize, cells: &mut [f64], flipped: &mut [bool; LANES]) {
    let memory = cells.as_mut_ptr();
    // SAFETY: a cell is the `LANES` numbers from `cell * LANES` on, which are in `cells`. The cell that is written is not an operand, so
    // the mutable slice overlaps none that is read.
    unsafe {
        let read = |cell: usize| std::slice::from_raw_parts(memory.add(cell * LANES), LANES);
        let write = |cell: usize| std::slice::from_raw_parts_mut(memory.add(cell * LANES), LANES);
        match one.kind {
            Kind::Set(op) => op.apply_all(read(one.a.at(trip)), read(one.b.at(trip)), write(one.to.at(trip))),
            Kind::Add(op) => {
                let mut room = [0.0; LANES];
                apply(op, true, read(one.a.at(trip)), read(one.b.at(trip)), write(one.to.at(trip)), &mut room);
            }
            Kind::Guard(relation, held) => {
                let pairs = read(one.a.at(trip)).iter().zip(read(one.b.at(trip)));
                for (flipped, (a, b)) in flipped.iter_mut().zip(pairs) {
                    *flipped |= relation.holds(*a, *b) != held;
                }
            }
        }
    }
}
