//! The integration tests: one binary, a module for each subject.

mod accuracy;
mod agreement;
mod derivatives;
mod fuzz;
mod grains;
mod limits;
#[cfg(feature = "nalgebra")]
mod matrices;
mod misuse;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "num-traits")]
mod num_traits;
mod over;
mod recordings;
mod replay;
mod solve;
mod sparse;
#[cfg(feature = "num-traits")]
mod symbol_float;
#[cfg(feature = "nalgebra")]
mod symbol_nalgebra;
mod symbols;
mod threads;
