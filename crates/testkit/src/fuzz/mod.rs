//! Random programs: every transform must agree with every other.
//!
//! A [`Composition`] strings primitives together: all built-in ones, on their own cases moved by earlier values, and
//! steps that no single primitive has, such as mutation, masks, indices that depend on data, randomness and transforms
//! inside. [`verify`] differentiates it in every way there is. [`Formula`] is a scalar program with an independent
//! reference: [`HyperDual`] numbers. A [`RandomLoop`] is run by Rust, as a scan and compiled. [`SavedFiles`] are saved programs
//! with errors in them, which load and do what they say, or are refused.

mod agreement;
mod composition;
mod dual;
mod files;
mod formula;
mod generate;
mod loops;
mod random;

pub use agreement::{Verified, verify};
pub use composition::Composition;
pub use dual::HyperDual;
pub use files::{Outcome, SavedFiles, Tally, Wrong};
pub use formula::Formula;
pub use loops::RandomLoop;
pub use random::Random;
