//! The vocabulary of rule shapes: what most primitives are made of.
//!
//! An operation of a known shape states its mathematics; names, interpreters and tests follow from the shape. Only the
//! rest implements [`Primitive`](crate::primitive::Primitive) by hand.

mod batching;
mod elementwise;
pub(crate) mod formula;
mod fused;
mod linear;
mod macros;
mod numbers;
mod sizes;

pub(crate) use batching::align_batch;
pub use elementwise::Elementwise;
pub(crate) use elementwise::{Domain, Loops, Slope, SlopeExpression, SlopeLoops, Source};
pub(crate) use fused::{Fused, FusedOp};
pub(crate) use linear::{Linear, LinearOp};
pub(crate) use macros::{elementwise, loops, parameters, slope};
pub(crate) use numbers::{Numbers, computed, is_wide};
pub use sizes::Sizes;
pub(crate) use sizes::window_sizes;
