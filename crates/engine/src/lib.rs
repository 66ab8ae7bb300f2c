//! Built on tensors, operations and programs: higher-order transforms, sparse derivatives, and solvers with implicit differentiation.
//!
//! It also re-exports the public parts of the lower crates. Users reach it through `wengert`.

// Functions that only test cases call are unused without them; with the cases, unused code is reported.
#![cfg_attr(not(feature = "cases"), allow(dead_code, unused_imports))]

mod implicit;
mod sparse;
mod transform;

/// The methods of tensors, in one trait per operation or theme, and the methods of transform results.
pub mod methods {
    pub use crate::transform::PullbackMethods;
    pub use wengert_ops::methods::*;
}

/// The same traits without names, for a prelude.
#[doc(hidden)]
pub mod unnamed_methods {
    pub use crate::transform::PullbackMethods as _;
    pub use wengert_ops::unnamed_methods::*;
}

pub use wengert_ops::fused;

/// An operation with all its rules: the parts to define one, and all built-in operations.
pub mod primitive {
    #[cfg(feature = "cases")]
    pub use wengert_compiler::registry::sources;
    pub use wengert_compiler::registry::{PRIMITIVES, find};
    pub use wengert_core::primitive::*;
    #[cfg(feature = "cases")]
    pub use wengert_core::tensor::CONSTRUCTORS;
    #[cfg(feature = "cases")]
    pub use wengert_ops::composite::COMPOSITES;
}

pub use implicit::{
    Adjoint, Argmin, FixedPoint, Krylov, Ode, Root, argmin, fixed_point, linear_solve, odeint, root, try_argmin,
    try_fixed_point, try_linear_solve, try_odeint, try_root,
};
pub use sparse::{Colouring, Compression, Pattern, SparseHessian, SparseJacobian, hessian_pattern, jacobian_pattern};
pub use transform::{
    GradCheck, GradFault, GradMismatch, GradReport, GradRow, Jacobian, LinearMap, Policy, Segments, checkpoint,
    checkpoint_chain, checkpoint_loop, checkpoint_with, custom_jvp, custom_vjp, gauss_newton_product, gradcheck,
    hessian, hvp, jacfwd, jacobian, jacrev, jet, laplacian, linearize, reversible, stop_gradient, vhp,
};
pub use wengert_compiler::{
    Compiled, CompiledStep, Count, Debugger, DeviceUsage, Loaded, PlanSegment, PlanSummary, Precision, Run, RunStep,
    SignatureSummary, Statistics, Tradeoff, WorkspacePiece, compile, compile_step, cond, fori, fori_with,
    log_compilations, program, scan, scan_reverse, scan_times, scan_times_with, scan_with, switch, while_loop,
    while_loop_with,
};
pub use wengert_core::{
    AnyAxis, Arange, Axes, DType, Error, ErrorKind, Line, Nested, Operand, Over, Pullback, Scalar, Shape, Steps,
    Tensor, Tree, TreePath, autograd, catch, grad, grad_with_aux, grad_wrt, jvp, keepdim, memory, tree, value_and_grad,
    value_and_grad_with_aux, value_and_grad_wrt, vjp, vmap, vmap_with,
};
pub(crate) use wengert_core::{bind, custom, error, interp, location, tensor};

/// For other crates of this workspace that execute plans: the plan types, and the interface to implement.
#[doc(hidden)]
pub mod backend {
    pub use wengert_compiler::plan::{
        Apply, Backend, Cpu, FlowPlan, Host, Input, Instruction, Kind, Led, Loop, LoopKernel, Nested, Options, Place,
        Placed, PlacedLoop, Plan, Read, Runner, Scan, Target, TiledLoops, operation_runner, prepare,
    };
    pub use wengert_core::tensor::device::{DeviceMemory, Machine, Machines, enter};
    pub use wengert_kernels::memory::{Memory, Span};
    pub use wengert_kernels::tiled::{Access, Destination, Fold, Output};
}

/// For other crates of this workspace that bind functions with their own rules.
#[doc(hidden)]
pub mod foreign {
    pub use wengert_core::custom::{Form, Function, Residual, bind_function};
}

/// Sixteen-bit floats.
pub use wengert_kernels::dtype::{bf16, f16};

/// The number of threads that kernels use; results have the same bits for any number.
pub use wengert_kernels::threads::{set_threads, threads};

pub use wengert_ops::{
    Attention, Bag, Conv, Covariance, CrossEntropy, Ellipsis, EmbeddingBag, GridSample, Interpolate, InterpolateMode,
    Interpolation, Key, MatrixNorm, NewAxis, Norm, Outside, PadMode, Padding, Pool, Reduction, ScatterReduce, Select,
    Selection, Sizes, SliceMut, TorchMethods, Triangle, Unique,
};
