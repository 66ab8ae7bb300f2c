//! Contracts between the parts of the core.

mod mask;
mod tensor;
mod tree;
mod window;
