//! Tensors and everything that differentiates them.
//!
//! A set of primitives (`ops`), each with all its rules, and a set of interpreters (`interp`): evaluation, reverse tape,
//! forward tangents, batching and tracing. `bind` joins the two. Users reach this crate through `wengert`.

pub mod autograd;
mod bind;
mod composite;
mod error;
mod interp;
mod location;
mod ops;
pub mod primitive;
pub mod program;
mod rules;
mod tensor;
mod transform;
pub mod tree;

pub use composite::{Covariance, Interpolation, MatrixNorm, PadMode, ScatterReduce, Unique};
pub use error::{Error, ErrorKind, catch};
pub use location::Line;
pub use tensor::{
    AnyAxis, Arange, DType, Ellipsis, Nested, NewAxis, Scalar, Select, Selection, Shape, SliceMut, Steps, Tensor,
};
pub use transform::{
    Compiled, GradCheck, GradFault, GradMismatch, GradReport, GradRow, Pullback, compile, grad, gradcheck, jet,
    jvp, laplacian, value_and_grad, vjp, vmap,
};
pub use tree::{Tree, TreePath};

/// How many threads kernels use; results are the same bits for every number.
pub use wengert_kernels::threads::{set_threads, threads};

/// What the memory pool holds.
pub mod memory {
    pub use wengert_kernels::pool::{PoolStatistics, reset_peak, statistics};
}

/// Operands of arithmetic: tensors, references to them, and Rust numbers.
pub use ops::Operand;

/// The triangle of a triangular system.
pub use ops::Triangle;

/// The key of a random stream.
pub use ops::Key;

/// Options of network operations.
pub use composite::{Bag, CrossEntropy, EmbeddingBag, GridSample, Interpolate, InterpolateMode, Outside, Reduction};
pub use ops::{Attention, Conv, Norm, Padding, Pool};
pub use rules::Sizes;
