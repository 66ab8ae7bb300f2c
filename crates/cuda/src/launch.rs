//! What runs on a device, as data: kernels as text, and launches with addresses relative to regions of memory.
//!
//! Regions are numbered as in a [`Plan`](wengert_compiler::plan::Plan): the workspace, inputs, constants, and outputs that do not update an
//! input. The workspace is longer than the plan's: kernels keep partial results behind it.

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
    /// A matrix product of the vendor's library.
    Product(Box<Product>),
    /// A copy of bytes.
    Copy {
        /// The source.
        from: Span,
        /// The destination.
        to: Span,
    },
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
    /// What runs.
    pub list: Vec<Launch>,
    /// The bytes of the workspace, partial results included.
    pub arena: usize,
}
