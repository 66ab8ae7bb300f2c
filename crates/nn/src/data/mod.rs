//! Data: sets of examples, and loaders that shuffle and batch them.

mod loader;
mod set;

pub use loader::{Epoch, Loader, Position};
pub use set::{Data, Tensors};
