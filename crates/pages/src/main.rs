//! Writes the pages of the operations, and the site.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the pages of the operations
#[derive(Parser)]
#[command(name = "wengert-pages", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only report which pages are stale, missing or extra; exit with 1 if there are any
    #[arg(long)]
    check: bool,
    /// The directory of the pages [default: docs/ops]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Write the documentation as HTML files that open from disk; links are checked
    Site {
        /// The folder of the site [default: target/site]
        folder: Option<PathBuf>,
        /// The folder of `cargo doc`, such as target/doc: links to types and functions lead there
        #[arg(long, value_name = "FOLDER")]
        doc: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let Arguments { command, check, directory } = Arguments::parse();
    let out = &mut std::io::stdout();
    let result = match command {
        Some(Command::Site { folder, doc }) => wengert_pages::site::run(folder, doc, out),
        None => wengert_pages::run(check, directory, out),
    };
    wengert_cli::exit_code(result, "wengert-pages")
}
