//! Graphs of what the library records, traces and plans.

mod plan;
mod program;
mod run;
mod tape;

pub use plan::plan;
pub use program::program;
pub use run::run;
pub use tape::graph;
