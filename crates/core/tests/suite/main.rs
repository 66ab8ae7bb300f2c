//! Contracts between the parts of the core.

mod mask;
mod tensor;
mod tree;
mod window;

// A file with inner tests, and its imports.
#[allow(dead_code)]
#[path = "../../src/memory/schedule.rs"]
mod schedule;
use wengert_core::{Error, ErrorKind};
