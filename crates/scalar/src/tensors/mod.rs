//! Scalars and tensors in one graph: a tensor operation as a wide statement on a tape, and a recorded scalar function as a tensor
//! operation.

mod row_function;
mod wide;

pub use row_function::RowFunction;
pub use wide::through_tensors;
