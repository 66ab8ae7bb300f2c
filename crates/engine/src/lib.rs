//! Tensors and everything that differentiates them.
//!
//! A set of primitives (`ops`), each with all its rules, and a set of interpreters (`interp`): evaluation, reverse tape,
//! forward tangents, batching, tracing and dependency patterns. `bind` joins the two. Users reach this crate through `wengert`.

// Functions that only cases call are not compiled without them; which are unused with them is told.
#![cfg_attr(not(feature = "cases"), allow(dead_code, unused_imports))]

mod compile;
mod composite;
mod implicit;
mod ops;
pub mod program;
mod rules;
mod sparse;
mod transform;

/// The methods of tensors, a trait for each operation or theme.
pub mod methods {
    pub use crate::composite::methods::*;
    pub use crate::ops::functions::FunctionMethods;
    pub use crate::ops::methods::*;
    pub use crate::transform::PullbackMethods;
}

/// An operation with all its rules: what it is made of, and all that are built in.
pub mod primitive {
    #[cfg(feature = "cases")]
    pub use crate::composite::COMPOSITES;
    #[cfg(feature = "cases")]
    pub use crate::ops::sources;
    pub use crate::ops::{PRIMITIVES, find};
    pub use wengert_core::primitive::*;
}

pub use compile::PlanSummary;
pub use wengert_core::{
    AnyAxis, Arange, Axes, DType, Error, ErrorKind, Line, Nested, Operand, Pullback, Scalar, Shape, Steps, Tensor, Tree,
    TreePath, autograd, catch, grad, grad_with_aux, grad_wrt, jvp, memory, tree, value_and_grad,
    value_and_grad_with_aux, value_and_grad_wrt, vjp, vmap, vmap_with,
};
pub(crate) use wengert_core::{bind, custom, error, ground, interp, location, tensor};
pub use composite::{
    Covariance, Ellipsis, Interpolation, MatrixNorm, NewAxis, PadMode, ScatterReduce, Select, Selection, SliceMut, Unique,
};
pub use implicit::{
    Adjoint, Argmin, FixedPoint, Krylov, Ode, Root, argmin, fixed_point, linear_solve, odeint, root, try_argmin,
    try_fixed_point, try_linear_solve, try_odeint, try_root,
};
pub use sparse::{Colouring, Compression, Pattern, SparseHessian, SparseJacobian, hessian_pattern, jacobian_pattern};
pub use transform::{
    Compiled, CompiledStep, Debugger, GradCheck, GradFault, GradMismatch, GradReport, GradRow, Jacobian, LinearMap, Loaded,
    Run, RunStep, SignatureSummary, Statistics, checkpoint, checkpoint_chain, compile, compile_step, custom_jvp,
    custom_vjp, gauss_newton_product, gradcheck, hessian, hvp, jacfwd, jacobian, jacrev, jet, laplacian, linearize,
    log_compilations, stop_gradient, vhp,
};

/// How another crate of ours runs plans: what they are, and what it has to say.
#[doc(hidden)]
pub mod backend {
    pub use crate::compile::{
        Apply, Backend, Cpu, FlowPlan, Host, Input, Instruction, Led, Loop, LoopKernel, Placed, PlacedLoop, Plan, Read,
        Runner, Target, TiledLoops,
    };
    pub use wengert_kernels::memory::{Memory, Span};
    pub use wengert_kernels::tiled::{Access, Destination, Fold, Output};
}

/// How another crate of ours binds a function with rules of its own.
#[doc(hidden)]
pub mod foreign {
    pub use wengert_core::custom::{Form, Function, Residual, bind_function};
}

/// Floats of sixteen bits.
pub use wengert_kernels::dtype::{bf16, f16};

/// How many threads kernels use; results are the same bits for every number.
pub use wengert_kernels::threads::{set_threads, threads};

/// The triangle of a triangular system.
pub use ops::Triangle;

/// The key of a random stream.
pub use ops::Key;

/// Loops and branches that stay in programs.
pub use ops::{Count, cond, fori, scan, scan_reverse, scan_times, switch, while_loop};

/// Options of network operations.
pub use composite::{Bag, CrossEntropy, EmbeddingBag, GridSample, Interpolate, InterpolateMode, Outside, Reduction};
pub use ops::{Attention, Conv, Norm, Padding, Pool};
pub use rules::Sizes;
