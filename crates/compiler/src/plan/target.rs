//! What a plan depends on of the machine that runs it.

use wengert_kernels::tiled::LONGEST_ROW;

/// The limits and sizes that planning asks for; those of a kernel are its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Bytes to which buffers of the workspace are aligned.
    pub alignment: usize,
    /// Equations that a loop has at most.
    pub most_equations: usize,
    /// Elements of a row up to which a loop folds it.
    pub longest_row: usize,
    /// Large results of calls that a loop reads at most: those of a sum of many products are added one by one, not kept for one
    /// loop.
    pub most_gathered: usize,
    /// Bytes from which on a result is large.
    pub large_result: usize,
    /// Floating-point operations of a call from which on a loop over its result follows it part by part.
    pub large_call: f64,
    /// Loops of one step at most.
    pub most_together: usize,
    /// Parts of a scan that run at the same time, at most.
    pub most_parts: usize,
    /// What reading or writing a byte costs, in floating-point operations.
    pub flops_per_byte: f64,
}

impl Target {
    /// The processor that this runs on. Buffers begin at cache lines.
    pub const CPU: Target = Target {
        alignment: 64,
        most_equations: 96,
        longest_row: LONGEST_ROW,
        most_gathered: 2,
        large_result: 1 << 16,
        large_call: 2e6,
        most_together: 256,
        most_parts: 16,
        flops_per_byte: 8.0,
    };
}
