//! `cargo run -p wengert-testkit -- sin matmul` checks these primitives on their cases, in all aspects.

use std::process::ExitCode;
use wengert::primitive::{PRIMITIVES, find};
use wengert_testkit::try_check;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        eprintln!("name the primitives to check, for example: cargo run -p wengert-testkit -- sin matmul");
        return ExitCode::from(2);
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
