//! The public transforms: functions of trees in, functions of trees out.

mod compile;
mod grad;
mod gradcheck;
mod jet;
mod jvp;
mod laplacian;
mod vjp;
mod vmap;

pub use compile::{Compiled, compile};
pub use grad::{grad, value_and_grad};
pub use gradcheck::{GradCheck, GradFault, GradMismatch, GradReport, GradRow, gradcheck};
pub use jet::jet;
pub use jvp::jvp;
pub use laplacian::laplacian;
pub use vjp::{Pullback, vjp};
pub use vmap::vmap;

use crate::location::Line;
use crate::primitive::Spec;
use crate::tree::difference;
use crate::{Error, ErrorKind, Tree};

/// Two trees of one structure whose leaves agree in shape and dtype, or the path where they do not.
fn expect_like<T: Tree>(caller: &str, what: &str, tree: &T, like: &T, line: Line) -> Result<(), Error> {
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
