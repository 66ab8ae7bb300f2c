//! Programs: computations that are staged once, rewritten by passes, planned, and run; loops and branches are operations with programs as
//! attributes.
//!
//! Users reach this crate through `wengert`.

// Functions that only test cases call are unused without them; with the cases, unused code is reported.
#![cfg_attr(not(feature = "cases"), allow(dead_code, unused_imports))]

#[doc(hidden)]
pub mod plan;
pub mod program;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod scheduled;
mod transform;

pub use control::scan::{scan, scan_reverse, scan_times, scan_times_with, scan_with};
pub use control::switch::{cond, switch};
#[doc(hidden)]
pub use control::while_gradient::while_gradient_in_loops;
pub use control::while_loop::{Count, fori, fori_with, while_loop, while_loop_with};
pub use plan::{DeviceUsage, PlanSegment, PlanSummary, Tradeoff, WorkspacePiece};
pub use program::Precision;
pub use transform::{
    Compiled, CompiledStep, Debugger, Loaded, Run, RunStep, SignatureSummary, Statistics, compile, compile_step,
    log_compilations,
};

#[doc(hidden)]
pub use wengert_core::{
    DType, Error, ErrorKind, Shape, Tensor, Tree, TreePath, autograd, bind, catch, custom, error, ground, interp, jvp,
    location, primitive, tensor, tree, vjp, vmap,
};
#[doc(hidden)]
pub use wengert_ops::{methods, rules};

wengert_core::primitives! {
    control {
        call: CALL;
        switch: SWITCH;
        scan: SCAN;
        while_loop: WHILE;
        while_gradient: WHILE_GRADIENT;
    }
}
