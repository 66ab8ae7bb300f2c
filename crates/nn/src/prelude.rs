//! Everything this crate takes from the crates below: items that `wengert` re-exports too (a test compares the two lists).

pub use wengert_derive::Tree;
pub use wengert_engine::autograd::{detect_anomaly, no_grad};
pub use wengert_engine::fused::*;
pub use wengert_engine::methods::*;
pub use wengert_engine::{
    Attention, Conv, CrossEntropy, DType, Ellipsis, Error, ErrorKind, Interpolate, Key, Line, Norm, Operand, PadMode,
    Padding, Pool, Reduction, Shape, Sizes, Tensor, Tree, TreePath, catch, checkpoint, compile, compile_step,
    custom_vjp, primitive, program, scan, scan_reverse, tree, value_and_grad_with_aux, vjp,
};
#[cfg(feature = "files")]
pub use wengert_engine::{Scalar, f16};
pub use wengert_view as view;
