//! Scalars and tensors in one graph: a tensor operation as a wide statement on a tape, and a recorded scalar function as a tensor
//! operation.

mod rows;
mod wide;

pub use rows::Rows;
pub use wide::through_tensors;
