//! Memory for a number of statements.

use crate::pool::Block;

/// The number of statements in the first chunk, and in the largest: a tape that fits in a cache stays there.
const FIRST: usize = 1 << 13;
const MOST: usize = 1 << 22;

/// Statements and their arguments; every statement has room for two.
pub(super) struct Chunk {
    /// Partial derivatives, arguments, counts.
    memory: Block,
    /// The number of statements that it has memory for, and the number that can still be numbered.
    room: usize,
    statements: usize,
    arguments: usize,
    /// The number of its first statement.
    pub first: u32,
    /// The number after its last statement, and the number of its arguments, set while another chunk is being written.
    pub end: u32,
    pub used: usize,
    /// Statements with many arguments, and how many they have.
    pub widths: Vec<(u32, usize)>,
}

const PARTIAL: usize = size_of::<f64>();
const ARGUMENT: usize = size_of::<u32>();

impl Chunk {
    /// A chunk after one of `before` statements, with room for a statement of `most` arguments.
    pub fn new(before: usize, most: usize) -> Chunk {
        let statements = (2 * before).clamp(FIRST, MOST);
        let arguments = (2 * statements).max(most);
        // If the size overflows memory, the pool reports it.
        let memory = Block::new(arguments.saturating_mul(PARTIAL + ARGUMENT).saturating_add(statements));
        Chunk { memory, room: statements, statements, arguments, first: 0, end: 0, used: 0, widths: Vec::new() }
    }

    pub fn statements_most(&self) -> usize {
        self.statements
    }

    pub fn arguments_most(&self) -> usize {
        self.arguments
    }

    /// Starts the chunk at statement `first`.
    pub fn open(&mut self, first: u32) {
        self.first = first;
        self.widths.clear();
        // A chunk ends where statement numbers do.
        self.statements = self.room.min((u32::MAX - first) as usize);
    }

    /// Another chunk is written from now on.
    pub fn close(&mut self, end: u32, used: usize) {
        self.end = end;
        self.used = used;
    }

    /// Reopens the chunk for writing, from statement `next` on.
    pub fn reopen(&mut self, next: u32) {
        self.widths.retain(|(index, _)| *index < next);
    }

    /// Partial derivatives, `arguments` of them, then as many arguments, then counts, one for each statement of `room`. All are
    /// initialised, as memory of the pool is. There is no other reference to the block, so they may be written through these pointers while
    /// the chunk lives, even if it is moved.
    pub fn pointers(&self) -> (*mut f64, *mut u32, *mut u8) {
        let start = self.memory.data();
        let (arguments, counts) = (self.arguments * PARTIAL, self.arguments * (PARTIAL + ARGUMENT));
        (start.cast(), start.wrapping_add(arguments).cast(), start.wrapping_add(counts))
    }
}
