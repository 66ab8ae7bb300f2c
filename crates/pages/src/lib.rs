//! Generates the pages of the operations from their files, `docs/ops` and the text that `wengert ops` shows, and the documentation as a
//! [`site`] of HTML files.

pub mod composites;
pub mod coverage;
pub mod docs;
pub mod facts;
pub mod header;
pub mod methods;
pub mod site;
pub mod terminal;

use std::io::Write;
use std::path::{Path, PathBuf};
use wengert_cli::failure::Failure;

/// The directory of the pages, relative to the root of the project.
const PAGES: &str = "docs/ops";

/// Writes the pages, or reports which are out of date.
pub fn run(check: bool, directory: Option<PathBuf>, out: &mut dyn Write) -> Result<(), Failure> {
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
        return Err(Failure::new(format!("{message}\n  `cargo run -p wengert-pages` writes them")));
    }
    Ok(writeln!(out, "{shown}: up to date")?)
}
