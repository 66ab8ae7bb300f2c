//! The vocabulary of rule shapes: what most primitives are made of.
//!
//! An operation of a known shape states its mathematics; names, interpreters and tests follow from the shape. Only the
//! rest implements [`Primitive`](crate::primitive::Primitive) by hand.

mod axes;
mod batching;
mod elementwise;
pub(crate) mod formula;
mod fused;
pub(crate) mod heads;
mod lanes;
mod linear;
mod lines;
mod macros;
pub(crate) mod matrix;
mod pairs;
mod part;
mod pick;
mod polar;
mod product;
mod reduction;
pub(crate) mod reference;
mod rows;
mod sizes;
mod tested;

pub(crate) use axes::{along_axis, as_given, at_least_vector, checked_axes, checked_axis, keep_axes, row_and_axis};
pub(crate) use batching::align_batch;
pub use elementwise::Elementwise;
pub(crate) use elementwise::{Needs, Slope, SlopeExpression, Source, is_same, narrow};
pub(crate) use fused::{Fused, FusedOp};
pub(crate) use lanes::lane;
pub(crate) use linear::{Linear, LinearOp};
pub(crate) use lines::{batched_axis, line_cases, middle_axis};
pub(crate) use macros::{elementwise, loops, parameters, slope};
pub(crate) use matrix::{Decomposition, DecompositionOp};
pub(crate) use pairs::Arithmetic;
pub(crate) use part::{PartOf, PartTake, PartUpdate};
pub(crate) use pick::{Pick, PickOp, pick_rows};
pub use polar::PolarOp;
pub(crate) use polar::{Polar, polar_attrs};
pub(crate) use product::{Factor, Product, Terms};
pub(crate) use reduction::{Reduced, Reduction, ReductionOp, arranged, batched_axes, reduced_shape, rows_last};
pub(crate) use rows::{Rows, all_numbers};
pub use sizes::Sizes;
pub(crate) use sizes::window_sizes;
pub(crate) use tested::{Domain, Edges, Tested, away_from};
pub(crate) use wengert_kernels::functions::{Loops, Parameters, SlopeLoops, TILE, both, guarded, scaled_by_tiles};
