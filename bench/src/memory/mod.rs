//! What memory costs: schedules for loops, and budgets. One benchmark is one file.

mod binomial;
mod chain64;
mod eager_budget;
mod gpt_budget;
mod loops;

use std::path::PathBuf;

/// A benchmark: it prints lines, and draws pictures if there is a folder for them.
type Benchmark = fn(&Options);

/// Every benchmark by name.
const ALL: &[(&str, Benchmark)] = &[
    ("binomial", binomial::run),
    ("loops", loops::run),
    ("chain64", chain64::run),
    ("eager_budget", eager_budget::run),
    ("gpt_budget", gpt_budget::run),
];

/// What the command line says.
pub struct Options {
    /// One JSON object per line instead of text.
    pub json: bool,
    /// The folder for pictures.
    pub pictures: Option<PathBuf>,
}

impl Options {
    /// Prints one result, as JSON or as text.
    fn print(&self, json: String, text: String) {
        println!("{}", if self.json { json } else { text });
    }

    /// Writes a picture, if there is a folder for it.
    fn draw(&self, name: &str, svg: impl FnOnce() -> String) {
        let Some(folder) = &self.pictures else { return };
        let path = folder.join(format!("{name}.svg"));
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, svg()));
        if let Err(error) = written {
            eprintln!("{}: {error}", path.display());
            std::process::exit(1);
        }
    }
}

/// Runs the benchmarks with these names; all if there are none.
pub fn run(names: &[String], options: &Options) {
    if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|(known, _)| known != name)) {
        let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("there is no benchmark '{unknown}'; there are {}", known.join(", "));
        std::process::exit(2);
    }
    for (name, run) in ALL {
        if names.is_empty() || names.iter().any(|asked| asked == name) {
            run(options);
        }
    }
}
