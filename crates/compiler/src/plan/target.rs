//! The machine properties that planning depends on.

use crate::primitive::Cost;
use crate::program::Program;
use wengert_kernels::tiled::LONGEST_ROW;

/// Limits and sizes for planning; kernels have their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The alignment of workspace buffers in bytes.
    pub alignment: usize,
    /// Maximum number of equations per loop.
    pub most_equations: usize,
    /// Maximum length of a row that a loop folds.
    pub longest_row: usize,
    /// Maximum number of large call results that a loop reads: a sum of many products is accumulated one by one instead of keeping all
    /// products for one loop.
    pub most_gathered: usize,
    /// Results of at least this many bytes are large.
    pub large_result: usize,
    /// A loop is fused into a call with at least this many floating-point operations, and follows it part by part.
    pub large_call: f64,
    /// The bytes of partial sums of a product for each element of its result, and the most for one product.
    pub partial_sums: (usize, usize),
    /// Maximum number of loops per step.
    pub most_together: usize,
    /// Maximum number of parts of a scan that run in parallel.
    pub most_parts: usize,
    /// Minimum number of rows per part of a scan.
    pub least_rows: usize,
    /// Whether loops read numbers of 16 bits where the program widens them, instead of storing wide ones.
    pub widens: bool,
    /// Operations whose first output may be written over an operand of the same size that nothing reads afterwards, and which operand.
    pub overwriting: &'static [(&'static str, usize)],
    /// The cost of reading or writing a byte, in floating-point operations.
    pub flops_per_byte: f64,
    /// The cost of a floating-point operation on numbers of 16 bits, in others.
    pub narrow_flop: f64,
}

impl Target {
    /// What something costs, in floating-point operations; `is_narrow` says whether its numbers have 16 bits.
    pub fn weight(&self, cost: Cost, is_narrow: bool) -> f64 {
        let flop = if is_narrow { self.narrow_flop } else { 1.0 };
        flop * cost.flops + self.flops_per_byte * cost.bytes
    }

    /// What a program costs, in floating-point operations.
    pub fn program_weight(&self, program: &Program) -> f64 {
        let all = program.costs().into_iter().zip(program.equations());
        all.map(|(cost, equation)| self.weight(cost, program.is_narrow(equation))).sum()
    }

    /// The host CPU. Buffers are aligned to cache lines.
    pub const CPU: Target = Target {
        alignment: 64,
        most_equations: 96,
        longest_row: LONGEST_ROW,
        most_gathered: 2,
        large_result: 1 << 16,
        large_call: 2e6,
        partial_sums: (0, 0),
        most_together: 256,
        most_parts: 16,
        // As many as a product keeps in registers at a time.
        least_rows: 16,
        widens: false,
        overwriting: &[],
        flops_per_byte: 8.0,
        narrow_flop: 1.0,
    };
}
