//! The `wengert` command.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = wengert_cli::arguments::Arguments::parse().command();
    wengert_cli::exit_code(wengert_cli::run(command, &mut std::io::stdout()), "wengert")
}
