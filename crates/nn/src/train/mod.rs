//! The training loop.

#[cfg(feature = "files")]
mod checkpoint;
mod not_finite;
mod output;
mod progress;
mod report;
mod step;
#[cfg(feature = "tensorboard")]
mod tensorboard;
mod trainer;

pub use report::{EpochReport, Report, Stopped};
pub use step::TrainingState;
#[cfg(feature = "tensorboard")]
pub use tensorboard::TensorBoard;
pub use trainer::Trainer;
