//! The rule shapes of the ground operations.

mod axes;
mod batching;
mod elementwise;
pub mod formula;
mod fused;
mod lanes;
mod linear;
mod macros;
mod product;
mod slopes;
mod tested;

pub use crate::{elementwise, loops, parameters, slope};
pub use axes::{
    as_given, at_least_vector, axis_of, batched_axes, checked_axes, checked_axis, keep_axes, kept_shape, reduced_shape,
    row_and_axis,
};
pub use batching::align_batch;
pub use elementwise::Elementwise;
pub use fused::{Fused, FusedOp};
pub use lanes::lane;
pub use linear::{Linear, LinearOp};
pub use product::{Factor, Product, Terms};
pub use slopes::{Needs, SavedValue, Slope, SlopeExpression, is_same, narrow};
pub use tested::{Domain, Edges, Tested, away_from};
pub use wengert_kernels::functions::{Loops, Parameters, SlopeLoops, TILE, both, guarded, scaled_by_tiles};
