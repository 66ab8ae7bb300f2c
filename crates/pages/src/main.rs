//! Writes the pages of the operations.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the pages of the operations
#[derive(Parser)]
#[command(name = "wengert-pages", version)]
struct Arguments {
    /// Only report which pages are stale, missing or extra; exit with 1 if there are any
    #[arg(long)]
    check: bool,
    /// The directory of the pages [default: docs/ops]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { check, directory } = Arguments::parse();
    wengert_cli::exit_code(wengert_pages::run(check, directory, &mut std::io::stdout()), "wengert-pages")
}
