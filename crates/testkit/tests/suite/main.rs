//! Tests of all primitives, of recorded values, of random programs, and of `check` itself.

mod c_backend;
mod coverage;
mod fuzz;
mod golden;
mod golden_train;
mod planted;
mod wrong;
