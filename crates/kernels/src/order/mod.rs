//! Sorting and related operations: `values[i] = x[indices[i]]`, ascending or descending, along rows.
//!
//! Elements are mapped to integers of the same order (NaN above every number, -0 equal to 0) and packed with their positions, so any sort
//! of the packed integers is a stable sort of the elements. Each row is processed by one thread.

mod frequent;
mod key;
mod middle;
mod search;
mod select;
mod sort;
mod unique;

pub use frequent::mode;
pub use key::Sortable;
pub use middle::median;
pub use search::searchsorted;
pub use select::{kth_value, topk};
pub use sort::sort;
pub use unique::{Unique, unique};

#[cfg(test)]
mod tests;
