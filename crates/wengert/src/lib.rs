//! Reverse-mode automatic differentiation for Rust.
//!
//! Write ordinary Rust on [`Tensor`]s; ask for derivatives with [`grad`], [`vjp`], [`jvp`], batch with [`vmap`], stage with
//! [`compile`]: they compose in any order. Or work imperatively with `require_grad` and `backward`.
//!
//! ```
//! use wengert::prelude::*;
//! let f = |(x1, x2): &(Tensor, Tensor)| x1 * x2 + x1.sin();
//! let (d1, d2) = grad(f)(&(Tensor::from(2.0), Tensor::from(3.0)));
//! assert_eq!(d1.item(), 3.0 + 2.0f64.cos());
//! assert_eq!(d2.item(), 2.0);
//! ```

/// ```
/// use wengert::prelude::*;
///
/// #[derive(Tree)]
/// struct Linear {
///     weight: Tensor,
///     bias: Option<Tensor>,
///     #[tree(static)]
///     name: &'static str,
/// }
///
/// #[derive(Tree)]
/// enum Layer {
///     Relu,
///     Linear(Linear),
/// }
///
/// let linear = Linear { weight: Tensor::from([1.0, 2.0]), bias: None, name: "first" };
/// let layers = [Layer::Linear(linear), Layer::Relu];
/// assert_eq!(layers.named_leaves()[0].0, "0.0.weight");
/// ```
pub use wengert_derive::Tree;
pub use wengert_engine::{
    AnyAxis, Arange, Attention, Axes, Bag, Colouring, Compiled, CompiledStep, Compression, Conv, Covariance,
    CrossEntropy, DType, Debugger, DeviceUsage, Ellipsis, EmbeddingBag, Error, ErrorKind, GradCheck, GradFault,
    GradMismatch, GradReport, GradRow, GridSample, Interpolate, InterpolateMode, Interpolation, Jacobian, Key, Line,
    LinearMap, Loaded, MatrixNorm, Nested, NewAxis, Norm, Operand, Outside, Over, PadMode, Padding, Pattern,
    PlanSegment, PlanSummary, Policy, Pool, Precision, Pullback, Reduction, Run, RunStep, Scalar, ScatterReduce,
    Segments, Select, Selection, Shape, SignatureSummary, Sizes, SliceMut, SparseHessian, SparseJacobian, Statistics,
    Steps, Tensor, TorchMethods, Tradeoff, Tree, TreePath, Triangle, Unique, WorkspacePiece, autograd, bf16, catch,
    checkpoint, checkpoint_chain, checkpoint_loop, checkpoint_with, compile, compile_step, custom_jvp, custom_vjp, f16,
    gauss_newton_product, grad, grad_with_aux, grad_wrt, gradcheck, hessian, hessian_pattern, hvp, jacfwd, jacobian,
    jacobian_pattern, jacrev, jet, jvp, keepdim, laplacian, linearize, log_compilations, memory, primitive, program,
    reversible, set_threads, stop_gradient, threads, tree, value_and_grad, value_and_grad_with_aux, value_and_grad_wrt,
    vhp, vjp, vmap, vmap_with,
};
pub use wengert_engine::{fused, methods};

pub use wengert_engine::{
    Adjoint, Argmin, FixedPoint, Krylov, Ode, Root, argmin, fixed_point, linear_solve, odeint, root, try_argmin,
    try_fixed_point, try_linear_solve, try_odeint, try_root,
};

pub use wengert_engine::memory::Schedule;
pub use wengert_engine::{
    Count, cond, fori, fori_with, scan, scan_reverse, scan_times, scan_times_with, scan_with, switch, while_loop,
    while_loop_with,
};

pub use wengert_engine::primitive::Device;

#[doc(hidden)]
pub use wengert_engine::backend;

// Its devices enter the table when it is linked.
#[cfg(feature = "cuda")]
use wengert_cuda as _;

/// Programs on single numbers: a tape for scalars, and dual numbers.
pub use wengert_scalar as scalar;

/// Networks.
#[cfg(feature = "nn")]
pub use wengert_nn as nn;
#[cfg(feature = "nn")]
pub use wengert_view as view;

/// Everything a program usually needs.
pub mod prelude {
    pub use crate::autograd::{Backward, Tape, default_dtype, detect_anomaly, enable_grad, no_grad, record_values};
    pub use crate::program::Program;
    pub use crate::{
        Adjoint, Argmin, Attention, Axes, Bag, Colouring, Compiled, CompiledStep, Conv, CrossEntropy, DType, Device,
        Ellipsis, EmbeddingBag, Error, ErrorKind, FixedPoint, GradCheck, GridSample, Interpolate, InterpolateMode,
        Jacobian, Key, Krylov, LinearMap, Loaded, MatrixNorm, NewAxis, Norm, Ode, Operand, Outside, PadMode, Padding,
        Pattern, PlanSummary, Policy, Pool, Precision, Pullback, Reduction, Root, ScatterReduce, Segments, Select,
        Shape, SparseHessian, SparseJacobian, Tensor, Tree, TreePath, Triangle, argmin, catch, checkpoint,
        checkpoint_chain, checkpoint_loop, checkpoint_with, compile, compile_step, cond, custom_jvp, custom_vjp,
        fixed_point, fori, fori_with, gauss_newton_product, grad, grad_with_aux, grad_wrt, gradcheck, hessian,
        hessian_pattern, hvp, jacfwd, jacobian, jacobian_pattern, jacrev, jet, jvp, keepdim, laplacian, linear_solve,
        linearize, odeint, reversible, root, scan, scan_reverse, scan_times, scan_times_with, scan_with, stop_gradient,
        switch, try_argmin, try_fixed_point, try_linear_solve, try_odeint, try_root, value_and_grad,
        value_and_grad_with_aux, value_and_grad_wrt, vhp, vjp, vmap, vmap_with, while_loop, while_loop_with,
    };
    pub use wengert_engine::unnamed_methods::*;
}

macro_rules! guide {
    ($($page:ident)+) => {
        #[doc = include_str!("../../../docs/guide.md")]
        pub mod guide {
            $(
                #[doc = include_str!(concat!("../../../docs/guide/", stringify!($page), ".md"))]
                pub mod $page {}
            )+
        }
    };
}

guide!(coming_from glossary case_studies forward_and_reverse cheap_gradient memory dynamic_and_staged tensors trees networks examples looking failure_modes reverse forward jacobians sparsity taylor batching compile devices control_flow checkpoints budgets custom_rules implicit scalars replays covectors conventions);

/// The README's examples run as tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
