//! Memory for a number of statements.

use crate::pool::Block;
use crate::spill::Record;

/// The number of statements in the first chunk, and in the largest: a tape that fits in a cache stays there.
const FIRST: usize = 1 << 13;
pub(super) const MOST: usize = 1 << 22;

const PARTIAL: usize = size_of::<f64>();
const ARGUMENT: usize = size_of::<u32>();

/// Room for partial derivatives, then as many arguments, then counts, one for each statement.
pub(super) struct Memory {
    block: Block,
    statements: usize,
    arguments: usize,
}

impl Memory {
    /// The bytes of so many statements and arguments; the most that can be counted if there are more.
    pub fn size(statements: usize, arguments: usize) -> usize {
        arguments.saturating_mul(PARTIAL + ARGUMENT).saturating_add(statements)
    }

    pub fn new(statements: usize, arguments: usize) -> Memory {
        // If the size overflows memory, the pool reports it.
        Memory { block: Block::new(Memory::size(statements, arguments)), statements, arguments }
    }

    pub fn bytes(&self) -> usize {
        self.block.len()
    }

    pub fn fits(&self, statements: usize, arguments: usize) -> bool {
        self.statements >= statements && self.arguments >= arguments
    }

    /// The bytes of the first partial derivatives and arguments, `arguments` of them, and of as many counts as there are `statements`.
    pub fn pieces(&mut self, statements: usize, arguments: usize) -> [&mut [u8]; 3] {
        let (first, second) = (self.arguments * PARTIAL, self.arguments * ARGUMENT);
        let bytes = self.block.bytes_mut().expect("a chunk shares its memory with nobody");
        let (partials, rest) = bytes.split_at_mut(first);
        let (others, counts) = rest.split_at_mut(second);
        [&mut partials[..arguments * PARTIAL], &mut others[..arguments * ARGUMENT], &mut counts[..statements]]
    }
}

/// Where a chunk is in a file: its partial derivatives, arguments and counts.
#[derive(Clone, Copy)]
pub(super) struct Stored(pub [Record; 3]);

impl Stored {
    pub fn statements(&self) -> usize {
        self.0[2].length()
    }

    pub fn arguments(&self) -> usize {
        self.0[0].length() / PARTIAL
    }
}

/// Statements and their arguments; every statement has room for two.
pub(super) struct Chunk {
    /// None while the chunk is only in a file.
    pub memory: Option<Memory>,
    pub stored: Option<Stored>,
    /// The number of statements that it has memory for and that can still be numbered.
    statements: usize,
    /// The number of its first statement.
    pub first: u32,
    /// The number after its last statement, and the number of its arguments, set while another chunk is being written.
    pub end: u32,
    pub used: usize,
    /// Statements with many arguments, and how many they have.
    pub widths: Vec<(u32, usize)>,
}

impl Chunk {
    /// A chunk after one of `before` statements, with room for a statement of `most` arguments.
    pub fn new(before: usize, most: usize) -> Chunk {
        let statements = (2 * before).clamp(FIRST, MOST);
        Chunk::over(Memory::new(statements, (2 * statements).max(most)))
    }

    pub fn over(memory: Memory) -> Chunk {
        let statements = memory.statements;
        Chunk { memory: Some(memory), stored: None, statements, first: 0, end: 0, used: 0, widths: Vec::new() }
    }

    fn memory(&self) -> &Memory {
        self.memory.as_ref().expect("the chunk is in memory")
    }

    pub fn statements_most(&self) -> usize {
        self.statements
    }

    pub fn arguments_most(&self) -> usize {
        self.memory().arguments
    }

    /// Starts the chunk at statement `first`.
    pub fn open(&mut self, first: u32) {
        self.first = first;
        self.widths.clear();
        // A chunk ends where statement numbers do.
        self.statements = self.memory().statements.min((u32::MAX - first) as usize);
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

    /// Partial derivatives, as many as [`arguments_most`](Chunk::arguments_most), then as many arguments, then counts, one for each
    /// statement. All are initialised, as memory of the pool is. There is no other reference to the block, so they may be written through
    /// these pointers while the memory is that of the chunk, even if the chunk is moved.
    #[inline(always)]
    pub fn pointers(&self) -> (*mut f64, *mut u32, *mut u8) {
        let memory = self.memory();
        let start = memory.block.data();
        let (arguments, counts) = (memory.arguments * PARTIAL, memory.arguments * (PARTIAL + ARGUMENT));
        (start.cast(), start.wrapping_add(arguments).cast(), start.wrapping_add(counts))
    }
}
