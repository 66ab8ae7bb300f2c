//! Sorting and what follows from it: `values[i] = x[indices[i]]`, ascending or descending, along rows.
//!
//! Elements become integers in the same order (NaN above every number, -0 equal to 0), packed with their positions, so
//! that any sort of the packed numbers is a stable sort of the elements. Rows belong to one thread each.

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
