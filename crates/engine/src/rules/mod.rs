//! The vocabulary of rule shapes: what most primitives are made of.
//!
//! An operation of a known shape states its mathematics; names, interpreters and tests follow from the shape. Only the
//! rest implements [`Primitive`](crate::primitive::Primitive) by hand.

mod batching;
mod elementwise;
pub(crate) mod formula;
mod linear;
mod macros;
pub(crate) mod matrix;

pub(crate) use batching::align_batch;
pub use elementwise::Elementwise;
pub(crate) use elementwise::{Domain, Loops, Slope, SlopeExpression, SlopeLoops, Source};
pub(crate) use linear::{Linear, LinearOp};
pub(crate) use macros::{elementwise, loops, parameters, slope};
pub(crate) use matrix::{Decomposition, DecompositionOp};
