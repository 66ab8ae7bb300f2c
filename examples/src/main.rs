//! Runs examples and draws their pictures.

use clap::Parser;
use std::path::PathBuf;
use std::time::Instant;
use wengert_examples::{EXAMPLES, Example, Length};

/// Networks in less than a hundred lines each
#[derive(Parser)]
#[command(name = "wengert-examples")]
struct Arguments {
    /// The example to run, or `all`; without one, their list
    name: Option<String>,
    /// Take a few steps only
    #[arg(long)]
    short: bool,
    /// Write pictures to this folder, as NAME.svg
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let Some(name) = arguments.name else {
        EXAMPLES.iter().for_each(|example| println!("{:<20} {}", example.name, example.about));
        return Ok(());
    };
    let chosen: Vec<&Example> = EXAMPLES.iter().filter(|example| name == "all" || example.name == name).collect();
    if chosen.is_empty() {
        return Err(format!("there is no example `{name}`; without a name they are listed"));
    }
    for example in chosen {
        let (start, length) = (Instant::now(), if arguments.short { Length::Short } else { Length::Full });
        println!("{}: {}", example.name, example.about);
        let outcome = (example.run)(length);
        print!("{}", outcome.text);
        println!("{}", outcome.plot.terminal(100, 20));
        println!("{}: {:.4} ({:.1} s)\n", example.figure, outcome.figure, start.elapsed().as_secs_f64());
        if let Some(folder) = &arguments.pictures {
            let path = folder.join(example.name).with_extension("svg");
            std::fs::write(&path, outcome.plot.svg()).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}
