//! The interpreters of the core, one per file: evaluation, the imperative tape, reverse levels, forward tangents, batching. Crates above
//! implement [`Interpreter`] for others: tracing, Taylor series, dependency patterns.
//!
//! Every running transform has a level, a number from a counter that only grows. The tensors it creates carry that level.

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
pub(crate) use sweep::freed;
pub use sweep::{Sweep, SweepOptions};
