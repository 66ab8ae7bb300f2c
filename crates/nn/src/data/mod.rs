//! Data: sets of examples, loaders that shuffle and batch them, and readers of common files.

#[cfg(feature = "files")]
mod csv;
#[cfg(feature = "files")]
pub mod idx;
#[cfg(feature = "images")]
mod images;
#[cfg(feature = "files")]
mod inflate;
mod loader;
#[cfg(feature = "files")]
pub mod npy;
#[cfg(feature = "files")]
pub mod npz;
mod set;
#[cfg(feature = "files")]
mod stored_array;
mod text;
#[cfg(feature = "files")]
mod zip;

#[cfg(feature = "files")]
pub use csv::{Column, Csv, CsvOptions, Header};
#[cfg(feature = "images")]
pub use images::{ImageFolder, Pixels};
pub use loader::{Epoch, Loader, Position};
pub use set::{Data, Tensors};
pub use text::{Text, Windows};
