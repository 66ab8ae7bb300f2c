//! The `wengert` command.

use clap::Parser;
use std::process::ExitCode;
use wengert_cli::paint::Paint;

fn main() -> ExitCode {
    let command = wengert_cli::arguments::Arguments::parse().into_command();
    wengert_cli::exit_code(wengert_cli::run(command, Paint::stdout(), &mut std::io::stdout()), "wengert")
}
