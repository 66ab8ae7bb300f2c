//! Reductions over axes: sums, maxima and minima.
//!
//! Axes are arranged as `[outer, length, inner]` with `length` reduced, so that memory is read in storage order; then a row kernel
//! (`inner = 1`) or a column kernel runs. Partial results are cut by shape, never by thread count.

mod arrange;
mod max;
mod sum;

pub(crate) use arrange::for_each_group;
pub use max::{max, min};
pub use sum::sum;
pub(crate) use sum::{Summand, add_rows, sum_each_row, sum_run};

#[cfg(test)]
mod tests;
