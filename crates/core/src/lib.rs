//! Tensors and their differentiation: primitives, levels, the tape, the sweep, first-order transforms.
//!
//! The only operations here are those behind Rust's operators and those that derivatives are built from (`ground`); all others are in
//! crates above. Users reach this crate through `wengert`.

// Functions that only test cases call are unused without the feature; with it, the compiler still warns about unused ones.
#![cfg_attr(not(feature = "cases"), allow(dead_code, unused_imports))]

pub mod autograd;
#[doc(hidden)]
pub mod bind;
#[doc(hidden)]
pub mod custom;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod ground;
#[doc(hidden)]
pub mod interp;
#[doc(hidden)]
pub mod location;
pub mod memory;
pub mod primitive;
#[doc(hidden)]
pub mod rules;
#[doc(hidden)]
pub mod tensor;
#[doc(hidden)]
pub mod transform;
pub mod tree;
#[doc(hidden)]
pub mod types;

pub use error::{Error, ErrorKind, catch};
pub use location::Line;
pub use tensor::{AnyAxis, Arange, Nested, Operand, Over, Scalar, Shape, Steps, Tensor, keepdim};
pub use transform::{
    Axes, Pullback, grad, grad_with_aux, grad_wrt, jvp, value_and_grad, value_and_grad_with_aux, value_and_grad_wrt,
    vjp, vmap, vmap_with,
};
pub use tree::{Tree, TreePath};
pub use wengert_kernels::DType;
