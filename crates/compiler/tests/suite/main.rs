//! What the parts of the compiler promise each other. Files with tests inside stand here by themselves, which takes a second to compile
//! where the crate takes a minute.
#![allow(dead_code)]

mod loops;

#[path = "../../src/plan/tiled/arithmetic.rs"]
mod arithmetic;
#[path = "../../src/plan/graph.rs"]
mod graph;
#[path = "../../src/plan/tiled/pairs.rs"]
mod pairs;
#[path = "../../src/plan/placement.rs"]
mod placement;
#[path = "../../src/program/control/reversal.rs"]
mod reversal;

// What those files import.
use wengert_compiler::{DType, Error, ground, primitive, registry, rules};
