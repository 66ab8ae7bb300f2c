//! Runs programs of Wengert on NVIDIA GPUs.
//!
//! A plan becomes a list of launches: kernels as text, matrix products of the vendor's library, copies. All of this is data that is made and
//! tested without a GPU. The driver, the compiler and the library are loaded when a device is first used, so that every program starts
//! without them.

mod absorbed;
#[doc(hidden)]
pub mod calls;
#[allow(unsafe_code)]
mod driver;
#[doc(hidden)]
pub mod launch;
#[doc(hidden)]
pub mod lower;
mod machine;
#[doc(hidden)]
pub mod product;
mod runner;
mod sequence;
#[doc(hidden)]
pub mod source;

#[doc(hidden)]
pub use driver::{Compiled, compile};
#[doc(hidden)]
pub use machine::runs;
pub use machine::{Cuda, TARGET};
