//! The output of the command without arguments.

use crate::failure::Failure;
use crate::train::{Options, digits};
use crate::transforms::transforms;
use crate::wengert_list::wengert_list;
use std::io::Write;

/// The tour: the Wengert list, the transforms, a training run.
pub fn tour(is_quick: bool, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "\nWengert {}: reverse-mode automatic differentiation\n", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "{}\n", wengert_list())?;
    writeln!(out, "{}\n", transforms())?;
    digits::run(&Options { epochs: is_quick.then_some(digits::QUICK), ..Options::default() }, out)?;
    writeln!(out, "\nFurther: wengert train mnist, wengert ops, wengert ops tanh, wengert --help")?;
    Ok(())
}
