//! The public transforms: they map functions of trees to functions of trees.

mod checkpoint;
mod checkpoint_loop;
mod custom;
mod gradcheck;
mod hessian;
mod jacobian;
mod laplacian;
mod linearize;
mod reversible;
mod taylor;

pub use checkpoint::{Policy, Segments, checkpoint, checkpoint_chain, checkpoint_with};
pub use checkpoint_loop::checkpoint_loop;
pub use custom::{custom_jvp, custom_vjp, stop_gradient};
pub(crate) use custom::{expect_form, form_of, specs_of};
pub use gradcheck::{GradCheck, GradFault, GradMismatch, GradReport, GradRow, gradcheck};
pub use hessian::{gauss_newton_product, hessian, hvp, vhp};
pub use jacobian::{jacfwd, jacobian, jacrev};
pub use laplacian::laplacian;
pub use linearize::{Jacobian, LinearMap, PullbackMethods, linearize};
pub use reversible::reversible;
pub use taylor::jet;

pub(crate) use wengert_core::transform::{Chosen, Flat, Record, expect_like, filled, given, once};
