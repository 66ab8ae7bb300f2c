//! Networks: layers, initialisers, losses, optimisers, data, files and a training loop.
//!
//! A model is a struct of layers that derives `Tree`; a training step is an ordinary function of it.
//!
//! ```
//! use wengert::nn::optimise::{Adam, Optimiser};
//! use wengert::nn::{Context, Layer, Linear, Sequential, Tanh, sequential};
//! use wengert::prelude::*;
//!
//! let mut key = Key::new(0);
//! let mut model = sequential![Linear::new(1, 16, &mut key), Tanh, Linear::new(16, 1, &mut key)];
//! let x = Tensor::linspace(-1.0, 1.0, 32).reshape([32, 1]);
//! let y = (&x * 3.0).sin();
//!
//! let optimiser = Adam::new(0.02);
//! let mut memory = optimiser.start(&model);
//! for _ in 0..500 {
//!     let loss = |model: &Sequential| (model.forward(&x, &mut Context::evaluation()) - &y).square().mean();
//!     let (loss, gradient) = value_and_grad(loss)(&model);
//!     optimiser.update(&mut model, &gradient, &mut memory);
//!     if loss.item() < 1e-3 {
//!         return;
//!     }
//! }
//! panic!("it learns");
//! ```

mod context;
pub mod data;
#[cfg(feature = "files")]
pub mod files;
pub mod init;
mod layer;
mod layers;
pub mod loss;
mod metrics;
mod model;
pub mod optimise;
mod pattern;
mod prelude;
mod summary;
mod train;

pub use context::{Context, Updates};
pub use layer::{Layer, LayerTree};
pub use layers::*;
pub use metrics::accuracy;
pub use model::{Frozen, ModelMethods};
pub use pattern::matches;
pub use summary::{Row, Summary, summary};
#[cfg(feature = "tensorboard")]
pub use train::TensorBoard;
pub use train::{EpochReport, Report, Stopped, Trainer, TrainingState};
