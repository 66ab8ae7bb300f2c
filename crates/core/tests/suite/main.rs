//! What the parts of the ground promise each other.

mod mask;
mod tensor;
mod tree;
mod window;
