//! The parts of the `wengert` command, as functions.

pub mod arguments;
pub mod columns;
pub mod composites;
pub mod coverage;
pub mod digits;
pub mod docs;
pub mod facts;
pub mod failure;
pub mod header;
pub mod methods;
pub mod nearest;
pub mod network;
pub mod ops_page;
pub mod picture;
pub mod saved;
pub mod tour;
pub mod training;
pub mod transforms;
pub mod wengert_list;

use arguments::Command;
use failure::Failure;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the pages of the operations are, seen from the root of the project.
const PAGES: &str = "docs/ops";

/// Does what the user asked for, writing to `out`.
pub fn run(command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Tour { quick } => tour::tour(if quick { training::Plan::QUICK } else { training::Plan::FULL }, out)?,
        Command::Tape => write!(out, "{}", wengert_list::wengert_list())?,
        Command::Train { epochs, seed } => tour::train(training::Plan { epochs: epochs as usize, seed }, out)?,
        Command::Ops { name: None } => write!(out, "{}", ops_page::list())?,
        Command::Ops { name: Some(name) } => write!(out, "{}", ops_page::page(&name)?)?,
        Command::Run { file, inputs } => saved::run(&file, &inputs, out)?,
        Command::Docs { check, directory } => docs(check, directory, out)?,
    }
    out.flush()?;
    Ok(())
}

fn docs(check: bool, directory: Option<PathBuf>, out: &mut dyn Write) -> Result<(), Failure> {
    let directory = match directory {
        Some(directory) => directory,
        None if Path::new(PAGES).is_dir() => PathBuf::from(PAGES),
        None => {
            let message = format!("there is no directory {PAGES} here");
            return Err(Failure::usage(format!(
                "{message}\n  run this at the root of the project or name a directory"
            )));
        }
    };
    let shown = directory.display();
    if !check {
        let (written, removed) = docs::write(&directory)?;
        return Ok(writeln!(out, "{shown}: {written} files written, {removed} removed")?);
    }
    let faults = docs::faults(&directory)?;
    for (name, fault) in &faults {
        writeln!(out, "{fault:<7}  {}", directory.join(name).display())?;
    }
    if !faults.is_empty() {
        let message = format!("{} of the files in {shown} are out of date", faults.len());
        return Err(Failure::new(format!("{message}\n  `wengert docs` writes them")));
    }
    Ok(writeln!(out, "{shown}: up to date")?)
}
