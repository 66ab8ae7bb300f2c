//! The interpreters, one a file: evaluation, reverse tape, forward tangents, Taylor series, batching, tracing, dependency
//! patterns.
//!
//! Every running transform has a level, a number from a counter that only grows; the tensors it makes carry it.

pub(crate) mod batch;
pub(crate) mod control;
pub(crate) mod custom;
pub(crate) mod equation;
pub(crate) mod eval;
pub(crate) mod jet;
mod level;
mod node;
pub(crate) mod pattern;
mod push;
mod sweep;
pub(crate) mod tangent;
pub(crate) mod tape;
pub(crate) mod trace;
mod window;

pub(crate) use level::{Content, Level, LevelKind, OpenLevel, Tracer};
pub(crate) use node::{Node, Role};
pub(crate) use push::push;
pub(crate) use sweep::{Sweep, SweepOptions};
