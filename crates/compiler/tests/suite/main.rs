//! Contracts between the parts of the compiler. Files with inner tests are included here separately, which takes a second to compile, while
//! the crate takes a minute.
#![allow(dead_code)]

mod loops;

#[path = "../../src/plan/tiled/arithmetic.rs"]
mod arithmetic;
#[path = "../../src/scheduled/files.rs"]
mod files;
#[path = "../../src/plan/graph.rs"]
mod graph;
#[path = "../../src/plan/tiled/pairs.rs"]
mod pairs;
#[path = "../../src/plan/placement.rs"]
mod placement;

// The imports of those files.
use wengert_compiler::{DType, Error, ErrorKind, Tensor, ground, primitive, registry, rules};
