//! The parts of the `wengert` command, as functions.

pub mod arguments;
pub mod columns;
mod completions;
pub mod digits;
mod expression;
pub mod failure;
pub mod grad;
mod man;
pub mod nearest;
pub mod ops_page;
pub mod paint;
pub mod picture;
pub mod saved;
pub mod tour;
pub mod train;
pub mod transforms;
pub mod wengert_list;

use arguments::{Arguments, Command};
use clap::CommandFactory;
use failure::Failure;
use paint::Paint;
use std::io::Write;
use std::process::ExitCode;

/// Runs a command, writing to `out`.
pub fn run(command: Command, paint: Paint, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Tour { quick, json } => tour::tour(quick, json, paint, out)?,
        Command::Grad(options) => grad::run(&options, paint, out)?,
        Command::Tape { json } => grad::run(&wengert_list::options(json), paint, out)?,
        Command::Train { task, options } => task.train(&options.into(), out)?,
        Command::Ops { name, json } => write!(out, "{}", ops_page::answer(name.as_deref(), json, paint)?)?,
        Command::Run { file, inputs, html, json } => {
            html.iter().try_for_each(|page| saved::explore(&file, &inputs, page))?;
            saved::run(&file, &inputs, json, paint, out)?;
        }
        Command::Doctor { file, inputs, json } => saved::diagnose(&file, &inputs, json, out)?,
        Command::Completions { shell } => write!(out, "{}", completions::script(shell, &Arguments::command()))?,
        Command::Man => write!(out, "{}", man::page(&Arguments::command()))?,
    }
    out.flush()?;
    Ok(())
}

/// The exit code of a command; its message goes to standard error.
pub fn exit_code(result: Result<(), Failure>, command: &str) -> ExitCode {
    let Err(failure) = result else { return ExitCode::SUCCESS };
    if failure.code() != 0 {
        // If nobody reads messages either, the code remains.
        let _ = writeln!(std::io::stderr(), "{}", failure.told(command, Paint::stderr()));
    }
    ExitCode::from(failure.code())
}
