//! The public transforms: functions of trees in, functions of trees out.

mod checkpoint;
mod compile;
mod custom;
mod grad;
mod gradcheck;
mod hessian;
mod jacobian;
mod jvp;
mod laplacian;
mod linearize;
mod record;
mod taylor;
mod vjp;
mod vmap;

pub use checkpoint::{checkpoint, checkpoint_chain};
pub use compile::{
    Compiled, CompiledStep, Debugger, Loaded, Run, RunStep, SignatureSummary, Statistics, compile, compile_step,
    log_compilations,
};
pub use custom::{custom_jvp, custom_vjp, stop_gradient};
pub(crate) use custom::{expect_form, form_of, specs_of};
pub use grad::{grad, grad_with_aux, grad_wrt, value_and_grad, value_and_grad_with_aux, value_and_grad_wrt};
pub use gradcheck::{GradCheck, GradFault, GradMismatch, GradReport, GradRow, gradcheck};
pub use hessian::{gauss_newton_product, hessian, hvp, vhp};
pub use jacobian::{jacfwd, jacobian, jacrev};
pub use jvp::jvp;
pub use laplacian::laplacian;
pub use linearize::{Jacobian, LinearMap, linearize};
pub use taylor::jet;
pub use vjp::{Pullback, vjp};
pub use vmap::{Axes, vmap, vmap_with};

use crate::location::Line;
use crate::primitive::Spec;
use crate::tree::difference;
use crate::{Error, ErrorKind, Tree};

/// Two trees of one structure whose leaves agree in shape and dtype, or the path where they do not.
pub(crate) fn expect_like<T: Tree>(caller: &str, what: &str, tree: &T, like: &T, line: Line) -> Result<(), Error> {
    if let Some(text) = difference(tree, like) {
        return Err(Error::new(ErrorKind::Tree, caller, format!("{what} has another structure: {text}")).at(line));
    }
    for ((path, leaf), (_, expected)) in tree.named_leaves().into_iter().zip(like.named_leaves()) {
        let fits: (Spec, Spec) = (leaf.spec(), expected.spec());
        if fits.0 != fits.1 {
            let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
            let message = format!("{what} is {}{at}, where {} is needed", fits.0, fits.1);
            return Err(Error::new(ErrorKind::Tree, caller, message).at(line));
        }
    }
    Ok(())
}
