//! `cargo run -p wengert-testkit -- sin matmul` checks these primitives on their cases, in all aspects.
//!
//! `cargo run --release -p wengert-testkit -- files 1000000` loads and runs that many corrupted files of saved programs; a second number is
//! the first seed.

use std::process::ExitCode;
use wengert::primitive::{PRIMITIVES, find};
use wengert_testkit::fuzz::SavedFiles;
use wengert_testkit::try_check;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        eprintln!("name the primitives to check, for example: cargo run -p wengert-testkit -- sin matmul");
        return ExitCode::from(2);
    }
    if names[0] == "files" {
        return files(&names[1..]);
    }
    let mut code = ExitCode::SUCCESS;
    for name in names {
        let Some(op) = find(&name) else {
            let near =
                PRIMITIVES.iter().map(|op| op.name()).filter(|known| known.contains(&name) || name.contains(known));
            let near = near.collect::<Vec<_>>().join(", ");
            let hint = if near.is_empty() { "docs/ops lists all".to_string() } else { format!("there are: {near}") };
            eprintln!("there is no primitive '{name}'; {hint}");
            code = ExitCode::from(2);
            continue;
        };
        match try_check(op) {
            Ok(_) => println!("{name}: right on its {} cases", op.cases().len()),
            Err(failures) => {
                failures.iter().for_each(|failure| println!("{failure}"));
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Runs corrupted files of saved programs: how many, and from which seed on.
fn files(numbers: &[String]) -> ExitCode {
    let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
    let (count, first) = match numbers.as_deref() {
        Ok([count]) => (*count, 0),
        Ok([count, first]) => (*count, *first),
        _ => {
            eprintln!("say how many files, and the first seed if not 0: cargo run -p wengert-testkit -- files 1000 0");
            return ExitCode::from(2);
        }
    };
    // Failures are reported as they are found, with the file.
    let mut told = (0, 0);
    let tally = SavedFiles::new().run(first..first + count, |tally| {
        let new = tally.panics.iter().skip(told.0).chain(tally.differences.iter().skip(told.1));
        new.take(20).for_each(|text| println!("{text}"));
        told = (tally.panics.len(), tally.differences.len());
        println!("{tally}");
    });
    if tally.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
