//! Numbers and tensors in one graph: a tensor operation is a wide statement of a tape of numbers, and a recorded function of numbers
//! is an operation of tensors.

mod rows;
mod wide;

pub use rows::Rows;
pub use wide::through_tensors;
