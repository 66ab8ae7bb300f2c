//! Scalar programs: instructions on cells of memory, in a row and in loops.
//!
//! A cell holds one number, or one for each of many points that are computed at once. In a loop, the cells of an instruction move on with
//! every trip. A loop in lanes has no trip that waits for another: its instructions run over many trips at a time.
//!
//! A [`Code`] is checked when it is made; so running it looks at nothing but its cells.

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

/// Points that are computed at once.
pub const LANES: usize = 64;

/// A cell, or one for each trip of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The cell of the first trip.
    pub base: u32,
    /// How many cells further that of the next trip is.
    pub stride: i32,
}

impl Address {
    /// The same cell in every trip.
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

/// What two numbers are to each other.
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

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `to = op(a, b)`.
    Set(Op),
    /// `to += op(a, b)`.
    Add(Op),
    /// Whether a relation of `a` and `b` still holds, or still does not; `to` is nothing.
    Guard(Relation, bool),
}

/// One instruction; what has one operand repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it does.
    pub kind: Kind,
    /// Where the result goes.
    pub to: Address,
    /// The first operand.
    pub a: Address,
    /// The second operand.
    pub b: Address,
}

/// How the trips of a loop follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// None waits for another: each instruction over many trips.
    Lanes,
    /// One after the other.
    Forward,
    /// From the last to the first.
    Backward,
}

/// A part of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// Instructions one after the other, of cells that do not move.
    Straight(Vec<Instruction>),
    /// Instructions again and again.
    Loop {
        /// How often.
        trips: u32,
        /// In which order.
        order: Order,
        /// What.
        body: Vec<Instruction>,
    },
    /// Cells that become zero.
    Zero {
        /// The first.
        start: u32,
        /// How many.
        cells: u32,
    },
}

/// A guard that was found to go the other way: its item, instruction and trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flipped {
    /// The item.
    pub item: usize,
    /// The instruction in it.
    pub instruction: usize,
    /// The trip.
    pub trip: usize,
}

/// Whether a loop in lanes has so few trips that they run one after the other instead, interpreted or as native code. That is faster, and
/// what is added up over the trips is added up in this order.
fn is_short(trips: u32, body: &[Instruction]) -> bool {
    let is_called = |one: &Instruction| matches!(one.kind, Kind::Set(op) | Kind::Add(op) if op.is_called());
    trips < native::SHORT_WITH_CALLS || trips < native::SHORT && !body.iter().any(is_called)
}

/// A program that was checked.
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
    /// Panics unless every cell is one of `cells`, and no instruction writes what it reads.
    pub fn new(cells: usize, items: Vec<Item>) -> Code {
        check::expect_fits(cells, &items);
        Code { cells, items: items.into() }
    }

    /// How many cells it has.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Its parts.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many instructions it has; those of loops count once.
    pub fn instructions(&self) -> usize {
        let count = |item: &Item| match item {
            Item::Straight(body) | Item::Loop { body, .. } => body.len(),
            Item::Zero { .. } => 1,
        };
        self.items.iter().map(count).sum()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.instructions() * size_of::<Instruction>() + self.items.len() * size_of::<Item>()
    }
}

#[cfg(test)]
mod tests;
