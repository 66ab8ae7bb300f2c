//! Correctness tests for Wengert and for custom primitives.
//!
//! [`check`] tests everything about one primitive, from the cases defined next to it: its value against an independent reference,
//! derivatives against finite differences and against each other, batches against loops, eager against staged, saved values against values
//! read. It works for built-in and for user-defined primitives. [`fuzz`] composes all primitives at random and compares every transform
//! with every other; [`coverage`] reports what was exercised.
//!
//! ```
//! use wengert::primitive::find;
//! use wengert_testkit::{Aspect, check};
//! let report = check(find("tanh").unwrap());
//! assert!(report.cases(Aspect::SecondOrder) > 0);
//! ```

mod caught;
mod check;
mod coverage;
pub mod fuzz;
mod numeric;
mod parallel;
mod report;

pub use check::{check, try_check};
pub use coverage::{coverage, row};
pub use parallel::parallel;
pub use report::{Aspect, Failure, Report};
