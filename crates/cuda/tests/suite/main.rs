//! Tests of the kernels without a GPU.

mod axes;
#[cfg(feature = "compiled")]
mod compiled;
mod control;
mod emulator;
mod operations;
mod shapes;
mod workloads;
