//! The interpreters of the core, one a file: evaluation, the imperative tape, reverse levels, forward tangents, batching. Others are
//! an [`Interpreter`] in crates above: tracing, Taylor series, dependency patterns.
//!
//! Every running transform has a level, a number from a counter that only grows; the tensors it makes carry it.

mod apart;
pub mod batch;
pub mod custom;
pub mod eval;
pub mod imperative;
mod level;
mod node;
mod push;
mod sweep;
pub mod tangent;
pub mod tape;
pub mod window;

pub use crate::types::{Content, Interpreter, Level, Node, Role, Tracer, unroll};
pub use apart::Apart;
pub use level::OpenLevel;
pub use push::push;
pub use sweep::{Sweep, SweepOptions};
