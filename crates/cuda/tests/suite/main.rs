//! Tests of the kernels without a GPU.

mod absorbed;
mod axes;
#[cfg(feature = "compiled")]
mod compiled;
mod control;
mod edges;
mod emulator;
mod fallback;
mod operations;
mod recorder;
mod shapes;
mod workloads;
