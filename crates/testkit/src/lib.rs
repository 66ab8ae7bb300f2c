//! How Wengert knows that it is right.
//!
//! [`check`] does everything for one primitive, from the cases that live beside it: value against an independent
//! reference, derivatives against finite differences and against each other, batches against loops, eager against
//! staged, what is saved against what is read. It serves the built-in primitives and a user's own. [`fuzz`] composes all
//! primitives at random and compares every transform with every other; [`coverage`] says what was exercised.
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
