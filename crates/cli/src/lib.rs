//! The parts of the `wengert` command, as functions.

pub mod arguments;
pub mod columns;
pub mod digits;
mod expression;
pub mod failure;
pub mod grad;
pub mod nearest;
pub mod ops_page;
pub mod picture;
pub mod saved;
pub mod tour;
pub mod train;
pub mod transforms;
pub mod wengert_list;

use arguments::Command;
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

/// Runs a command, writing to `out`.
pub fn run(command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Tour { quick } => tour::tour(quick, out)?,
        Command::Grad(options) => grad::run(&options, out)?,
        Command::Tape => write!(out, "{}", wengert_list::wengert_list())?,
        Command::Train { task, options } => task.train(&options.into(), out)?,
        Command::Ops { name: None } => write!(out, "{}", ops_page::list())?,
        Command::Ops { name: Some(name) } => write!(out, "{}", ops_page::page(&name)?)?,
        Command::Run { file, inputs } => saved::run(&file, &inputs, out)?,
        Command::Doctor { file, inputs, json } => saved::diagnose(&file, &inputs, json, out)?,
    }
    out.flush()?;
    Ok(())
}

/// The exit code of a command; its message goes to standard error.
pub fn exit_code(result: Result<(), Failure>, command: &str) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    if failure.code() != 0 {
        eprintln!("{command}: {failure}");
    }
    ExitCode::from(failure.code())
}
