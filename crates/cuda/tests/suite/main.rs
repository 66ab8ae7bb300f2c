//! Tests of the kernels without a GPU.

#[cfg(feature = "compiled")]
mod compiled;
mod emulator;
mod fallback;
mod operations;
mod workloads;
