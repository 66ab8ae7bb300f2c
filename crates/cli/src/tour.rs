//! The output of the command without arguments.

use crate::failure::Failure;
use crate::grad;
use crate::paint::Paint;
use crate::train::{Options, digits};
use crate::transforms::Transforms;
use crate::wengert_list;
use std::io::Write;

/// The tour: the Wengert list, the transforms, a training run.
pub fn tour(is_quick: bool, json: bool, paint: Paint, out: &mut dyn Write) -> Result<(), Failure> {
    let (list, transforms) = (wengert_list::options(json), Transforms::computed());
    let training = Options { epochs: is_quick.then_some(digits::QUICK), json, ..Options::default() };
    if json {
        grad::run(&list, paint, out)?;
        writeln!(out, "{}", transforms.json())?;
        return digits::run(&training, out);
    }
    writeln!(out, "\nWengert {}: reverse-mode automatic differentiation\n", env!("CARGO_PKG_VERSION"))?;
    grad::run(&list, paint, out)?;
    writeln!(out, "\n\n{}\n", transforms.text(paint))?;
    digits::run(&training, out)?;
    writeln!(out, "\nFurther: wengert train mnist, wengert ops, wengert ops tanh, wengert --help")?;
    Ok(())
}
