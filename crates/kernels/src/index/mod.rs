//! Gather and scatter along one axis.
//!
//! For axis 1 of rank 3: `gather: out[i][j][k] = x[i][index[i][j][k]][k]`, `scatter: target[i][index[i][j][k]][k] += source[i][j][k]`, or
//! another fold. The index has the rank of `x` and is no longer than `x` along the other axes.

mod gather;
mod indexed_rows;
mod scatter;

pub use gather::gather;
pub use scatter::{scatter_add, scatter_fold, take_last};

use std::fmt;

/// An index outside the axis.
///
/// ```
/// use wengert_kernels::OutOfRange;
/// let error = OutOfRange { index: 7, position: 2, length: 5 };
/// assert_eq!(error.to_string(), "index 7 at position 2 is out of range for an axis of length 5");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfRange {
    /// The index found.
    pub index: i64,
    /// Its row-major position in the index tensor.
    pub position: usize,
    /// The length of the axis.
    pub length: usize,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange { index, position, length } = self;
        write!(formatter, "index {index} at position {position} is out of range for an axis of length {length}")
    }
}

impl std::error::Error for OutOfRange {}

#[cfg(test)]
mod tests;
