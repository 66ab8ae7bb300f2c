//! The `wengert` command.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = wengert_cli::arguments::Arguments::parse().command();
    match wengert_cli::run(command, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.code() != 0 {
                eprintln!("wengert: {failure}");
            }
            ExitCode::from(failure.code())
        }
    }
}
