//! The transforms that only need a level: they turn functions of trees into functions of trees.

mod grad;
mod jvp;
mod record;
mod vjp;
mod vmap;

pub use grad::{grad, grad_with_aux, grad_wrt, value_and_grad, value_and_grad_with_aux, value_and_grad_wrt};
pub use jvp::jvp;
pub use record::{Chosen, Flat, Record, expect_like, filled, given, once};
pub use vjp::{Pullback, vjp};
pub use vmap::{Axes, vmap, vmap_with};
