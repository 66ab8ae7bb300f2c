//! The vocabulary of rule shapes: what most primitives are made of.
//!
//! An operation of a known shape states its mathematics; names, interpreters and tests follow from the shape. Only the
//! rest implements [`Primitive`](crate::primitive::Primitive) by hand.

pub(crate) mod formula;
pub(crate) mod heads;
mod lines;
pub(crate) mod matrix;
mod pairs;
mod part;
mod pick;
mod polar;
mod reduction;
pub(crate) mod reference;
mod rows;
mod sizes;

pub(crate) use lines::{batched_axis, line_cases, middle_axis};
pub(crate) use matrix::{Decomposition, DecompositionOp};
pub(crate) use pairs::Arithmetic;
pub(crate) use part::{PartOf, PartTake, PartUpdate};
pub(crate) use pick::{Pick, PickOp, pick_rows};
pub use polar::PolarOp;
pub(crate) use polar::{Polar, polar_attrs};
pub(crate) use reduction::{Reduced, Reduction, ReductionOp, arranged, rows_last};
pub(crate) use rows::{Rows, all_numbers};
pub use sizes::Sizes;
pub(crate) use sizes::window_sizes;
pub(crate) use wengert_core::rules::*;
