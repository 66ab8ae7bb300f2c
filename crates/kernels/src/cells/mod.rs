//! Scalar programs: instructions on memory cells, in straight lines and in loops.
//!
//! A cell holds one number, or one number for each of many points that are computed at once. In a loop, the cells of an instruction advance
//! by a stride with every iteration. In a loop in lanes no iteration depends on another, so its instructions run over many iterations at a
//! time.
//!
//! A [`Code`] is validated when it is built, so running it needs no further checks.

mod check;
#[cfg(all(unix, target_arch = "x86_64", not(miri)))]
mod native;
#[cfg(not(all(unix, target_arch = "x86_64", not(miri))))]
#[path = "native/absent.rs"]
mod native;
mod op;
mod run;

pub use native::Native;
pub use op::Op;

use std::sync::Arc;

/// The number of points that are computed at once.
pub const LANES: usize = 64;

/// A cell, or one cell for each iteration of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The cell of the first iteration.
    pub base: u32,
    /// The distance in cells from one iteration to the next.
    pub stride: i32,
}

impl Address {
    /// The same cell in every iteration.
    ///
    /// ```
    /// use wengert_kernels::cells::Address;
    /// assert_eq!(Address::cell(3), Address { base: 3, stride: 0 });
    /// ```
    pub fn cell(base: u32) -> Address {
        Address { base, stride: 0 }
    }

    #[inline(always)]
    fn at(self, trip: usize) -> usize {
        (i64::from(self.base) + i64::from(self.stride) * trip as i64) as usize
    }
}

/// A relation between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// a < b.
    Less,
    /// a <= b.
    AtMost,
    /// a == b.
    Equal,
    /// a and b have the same bits.
    Same,
    /// b <= a < b + 1.
    Floor,
}

impl Relation {
    /// Whether it holds.
    ///
    /// ```
    /// use wengert_kernels::cells::Relation;
    /// assert!(Relation::Less.holds(1.0, 2.0) && !Relation::AtMost.holds(f64::NAN, 2.0));
    /// ```
    #[inline(always)]
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Relation::Less => a < b,
            Relation::AtMost => a <= b,
            Relation::Equal => a == b,
            Relation::Same => a.to_bits() == b.to_bits(),
            Relation::Floor => a.floor() == b,
        }
    }
}

/// The kind of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `to = op(a, b)`.
    Set(Op),
    /// `to += op(a, b)`.
    Add(Op),
    /// Checks that a relation of `a` and `b` still holds, or still does not hold; `to` is unused.
    Guard(Relation, bool),
}

/// One instruction. If it has only one operand, `b` repeats `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Its kind.
    pub kind: Kind,
    /// Where the result goes.
    pub to: Address,
    /// The first operand.
    pub a: Address,
    /// The second operand.
    pub b: Address,
}

/// The order in which the iterations of a loop run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Independent iterations: each instruction runs over many iterations at a time.
    Lanes,
    /// One after the other.
    Forward,
    /// From the last to the first.
    Backward,
}

/// An item of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// Straight-line instructions, on cells that do not move.
    Straight(Vec<Instruction>),
    /// A loop.
    Loop {
        /// The number of iterations.
        trips: u32,
        /// Their order.
        order: Order,
        /// The loop body.
        body: Vec<Instruction>,
    },
    /// Sets cells to zero.
    Zero {
        /// The first cell.
        start: u32,
        /// The number of cells.
        cells: u32,
    },
}

/// A guard whose outcome changed: its item, instruction and iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flipped {
    /// The item.
    pub item: usize,
    /// The instruction within the item.
    pub instruction: usize,
    /// The iteration.
    pub trip: usize,
}

/// Whether a loop in lanes has so few iterations that they run one after the other instead, interpreted or as native code. That is faster,
/// and sums over the iterations are then added in this order.
fn is_short(trips: u32, body: &[Instruction]) -> bool {
    let is_called = |one: &Instruction| matches!(one.kind, Kind::Set(op) | Kind::Add(op) if op.is_called());
    trips < native::SHORT_WITH_CALLS || trips < native::SHORT && !body.iter().any(is_called)
}

/// A validated program.
///
/// ```
/// use wengert_kernels::cells::{Address, Code, Instruction, Item, Kind, Op, Order};
/// // Cells 0, 1, 2 are squared to 3, 4, 5, and cell 6 is the sum of the squares.
/// let strided = |base| Address { base, stride: 1 };
/// let square = Instruction { kind: Kind::Set(Op::Mul), to: strided(3), a: strided(0), b: strided(0) };
/// let sum = Instruction { kind: Kind::Add(Op::Copy), to: Address::cell(6), a: strided(3), b: strided(3) };
/// let code = Code::new(7, vec![
///     Item::Zero { start: 6, cells: 1 },
///     Item::Loop { trips: 3, order: Order::Lanes, body: vec![square, sum] },
/// ]);
/// let mut cells = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0];
/// code.run(&mut cells).unwrap();
/// assert_eq!(cells[3..], [1.0, 4.0, 9.0, 14.0]);
/// ```
///
/// A clone shares its instructions.
#[derive(Clone, Debug)]
pub struct Code {
    cells: usize,
    items: Arc<[Item]>,
}

impl Code {
    /// Panics unless every address is within `cells`, and no instruction writes a cell that it reads.
    pub fn new(cells: usize, items: Vec<Item>) -> Code {
        check::expect_fits(cells, &items);
        Code { cells, items: items.into() }
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The items of the program.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The number of instructions; the body of a loop counts once.
    pub fn instructions(&self) -> usize {
        let count = |item: &Item| match item {
            Item::Straight(body) | Item::Loop { body, .. } => body.len(),
            Item::Zero { .. } => 1,
        };
        self.items.iter().map(count).sum()
    }

    /// The size in bytes.
    pub fn bytes(&self) -> usize {
        self.instructions() * size_of::<Instruction>() + self.items.len() * size_of::<Item>()
    }
}

#[cfg(test)]
mod tests;
