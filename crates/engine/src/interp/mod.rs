//! The interpreters of the core, one a file: evaluation, reverse tape, forward tangents, batching. Others are an [`Interpreter`]:
//! tracing (`program::trace`), Taylor series (`transform::taylor`), dependency patterns (`sparse::follow`).
//!
//! Every running transform has a level, a number from a counter that only grows; the tensors it makes carry it.

pub(crate) mod batch;
pub(crate) mod control;
pub(crate) mod custom;
pub(crate) mod eval;
mod interpreter;
mod level;
mod node;
mod push;
mod sweep;
pub(crate) mod tangent;
pub(crate) mod tape;
mod window;

pub(crate) use interpreter::{Interpreter, unroll};
pub(crate) use level::{Content, Level, LevelKind, OpenLevel, Tracer};
pub(crate) use node::{Node, Role};
pub(crate) use push::push;
pub(crate) use sweep::{Sweep, SweepOptions};
