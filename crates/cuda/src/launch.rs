//! What runs on a device, as data: kernels as text, and launches with addresses relative to regions of memory.
//!
//! Regions are numbered as in a [`Plan`](wengert_compiler::plan::Plan): the workspace, inputs, constants, and outputs that do not update an
//! input. The workspace is longer than the plan's: kernels keep partial results behind it.
//!
//! Loops and branches whose course depends on numbers are launches too: they refer to lists of launches by number.

use crate::product::Product;
use wengert_kernels::memory::Span;

/// The entry `name` of a text, which is compiled after the prelude.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The name of the entry.
    pub name: String,
    /// The text without the prelude.
    pub text: String,
}

/// Eight bytes of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Word {
    /// Where a span begins.
    Address(Span),
    /// A number.
    Number(u64),
}

/// The most shared memory that a block may ask for.
pub const MOST_SHARED: u32 = 232_448;

/// Blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads of a block along x, y and z.
    pub block: [u32; 3],
    /// The bytes of shared memory that a block asks for.
    pub shared: u32,
    /// The number of neighbouring blocks that see each other's shared memory; it is a part of the kernel.
    pub cluster: u32,
}

impl Shape {
    /// This many blocks of this many threads.
    pub fn line(blocks: usize, threads: usize) -> Shape {
        Shape { grid: [blocks as u32, 1, 1], block: [threads as u32, 1, 1], shared: 0, cluster: 1 }
    }

    /// Whether a device launches it.
    pub fn is_possible(&self) -> bool {
        let ([x, y, z], threads) = (self.grid, self.block.iter().product::<u32>());
        let is_grid = [x, y, z].iter().all(|count| *count > 0) && x < 1 << 31 && y <= 65535 && z <= 65535;
        is_grid && (1..=1024).contains(&threads) && self.shared <= MOST_SHARED && x.is_multiple_of(self.cluster)
    }
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A kernel, by its number; every argument is a number of words by value.
    Kernel {
        /// Its number among the kernels.
        kernel: usize,
        /// Blocks and threads.
        shape: Shape,
        /// The arguments.
        arguments: Vec<Vec<Word>>,
    },
    /// A matrix product of the vendor's library, by its number among the products.
    Product(usize),
    /// A copy of bytes.
    Copy {
        /// The source.
        from: Span,
        /// The destination.
        to: Span,
    },
    /// Other launches, as often as numbers say that the host reads when it comes to them.
    Control(Control),
}

/// A loop or a branch: which lists of launches run, and how often. Lists are given by their numbers.
///
/// What a loop carries lies in two buffers. An even step reads the second and writes the first, an odd one reads the first and writes the
/// second; so there are two lists for every step, and launches in front fill the second buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A loop while a test holds.
    While {
        /// The byte that tests write.
        answer: Span,
        /// What runs before even and odd steps.
        turns: [Turn; 2],
    },
    /// One of several branches.
    Switch {
        /// The bytes of the number of the branch: an integer, which is clamped, or a truth value.
        index: Span,
        /// The list of every branch.
        branches: Vec<usize>,
    },
    /// A loop of known length.
    Repeat {
        /// The number of steps.
        steps: usize,
        /// What is copied from moving to fixed places before every step.
        loads: Vec<Slice>,
        /// The lists of even and odd steps.
        turns: [usize; 2],
        /// What is copied from fixed to moving places after every step.
        stores: Vec<Slice>,
    },
}

/// The lists of an even or odd step of a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// Writes whether there is another step.
    pub test: usize,
    /// The step.
    pub body: usize,
    /// What runs instead of the step if there is none.
    pub end: usize,
}

/// Bytes that belong to a step of a loop, and the place where every step finds or leaves its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The bytes of the first step.
    pub moving: Span,
    /// How many bytes further the bytes of the next step are.
    pub by: i64,
    /// The place.
    pub fixed: Span,
}

impl Slice {
    /// The bytes of a step.
    pub fn at(&self, step: usize) -> Span {
        Span { start: (self.moving.start as i64 + self.by * step as i64) as usize, ..self.moving }
    }
}

/// A piece of work, and the step of the plan that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// What runs.
    pub work: Work,
    /// The number of the step.
    pub step: usize,
}

/// All that a plan runs, in order.
#[derive(Debug, Default)]
pub struct Launches {
    /// The kernels, each once.
    pub kernels: Vec<Kernel>,
    /// The products.
    pub products: Vec<Product>,
    /// What runs.
    pub list: Vec<Launch>,
    /// The lists that loops and branches refer to.
    pub lists: Vec<Vec<Launch>>,
    /// The bytes of the workspace, partial results included.
    pub arena: usize,
}
