//! The training loop.

#[cfg(feature = "files")]
mod checkpoint;
mod progress;
mod report;
mod step;
mod trainer;

pub use report::{EpochReport, Report, Stopped};
pub use step::TrainingState;
pub use trainer::Trainer;
