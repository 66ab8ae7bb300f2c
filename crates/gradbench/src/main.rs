//! `wengert-gradbench`: answers GradBench on standard input and output, or prints the cost of its workloads.

use std::io;
use std::process::ExitCode;
use wengert_gradbench::{protocol, table};

const USAGE: &str = "\
Usage: wengert-gradbench
       wengert-gradbench --table [--small] [module ..]

Without arguments, answers GradBench's messages on standard input, one JSON object a line.
With --table, measures the workloads of these modules, or of all; with --small, the small ones.";

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.iter().any(|name| name == "--help" || name == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let mut take = |flag: &str| {
        let before = names.len();
        names.retain(|name| name != flag);
        names.len() < before
    };
    let (is_table, is_small) = (take("--table"), take("--small"));
    let is_wrong = names.iter().any(|name| name.starts_with('-')) || !is_table && (is_small || !names.is_empty());
    if is_wrong {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    // The benchmark compares tools on one thread.
    wengert::set_threads(1);
    let result = match is_table {
        true => table::print(&names, is_small, io::stdout().lock()),
        false => protocol::serve(io::stdin().lock(), io::stdout().lock()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wengert-gradbench: {error}");
            ExitCode::FAILURE
        }
    }
}
