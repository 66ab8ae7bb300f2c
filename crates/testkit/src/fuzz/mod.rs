//! Random programs: every transform must agree with every other.
//!
//! A [`Composition`] chains primitives: all built-in ones, on their own cases perturbed by earlier values, and steps beyond single
//! primitives, such as mutation, masks, data-dependent indices, randomness and nested transforms. [`verify`] differentiates it in every
//! available way. [`Formula`] is a scalar program with an independent reference: [`HyperDual`] numbers. A [`RandomLoop`] is run by Rust, as
//! a scan and compiled. [`SavedFiles`] are corrupted saved programs, which must either do what they say or be rejected.

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
