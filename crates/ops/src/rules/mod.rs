//! The rule shapes from which most primitives are built.
//!
//! An operation of a known shape only states its mathematics; names, interpreters and tests follow from the shape. All others implement
//! [`Primitive`](crate::primitive::Primitive) by hand.

pub mod formula;
pub mod heads;
mod lines;
pub mod matrix;
mod part;
mod pick;
mod polar;
mod reduction;
pub mod reference;
mod row_map;
mod sizes;

pub use lines::{batched_axis, line_cases, middle_axis};
pub use matrix::{Decomposition, DecompositionOp};
pub use part::{PartOf, PartTake, PartUpdate};
pub use pick::{Pick, PickOp, pick_rows};
pub use polar::PolarOp;
pub use polar::{Polar, polar_attrs};
pub use reduction::{Reduced, Reduction, ReductionOp, arranged, rows_last};
pub use row_map::{RowMap, all_numbers};
pub use sizes::{LARGEST, Sizes, window_sizes};
pub use wengert_core::rules::*;
