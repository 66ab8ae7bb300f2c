//! Pictures: line plots and sparklines of numbers, graphs of tapes, programs and plans, and pages to explore them.
//!
//! Everything returns strings and never fails. Plots take plain numbers; values that cannot be drawn leave gaps. A [`Graph`] is made by
//! [`graph()`] of a tape, by [`program`], [`plan`] or [`run`]; see the [module](mod@graph). An [`Explorer`] is a page about graphs.
//!
//! ```
//! use wengert_view::{Plot, sparkline};
//!
//! let losses = [2.3, 1.1, 0.6, 0.4, 0.35];
//! let plot = Plot::new("Training").values("loss", &losses).x_label("epoch").log_y();
//! assert!(plot.svg().starts_with("<svg"));
//! println!("{}", plot.terminal(60, 12));
//! assert_eq!(sparkline(&losses), "█▄▂▁▁");
//! ```
//!
//! ```
//! use wengert::prelude::*;
//! use wengert_view::graph;
//!
//! let (x, w) = (Tensor::from([1.0, 2.0]), Tensor::from([0.5, -0.5]).require_grad());
//! let picture = graph(&Tape::of(&(x * w).tanh().sum()));
//! assert!(picture.svg().starts_with("<svg") && picture.dot().starts_with("digraph"));
//! println!("{}", picture.terminal(80));
//! ```

mod axis;
mod braille;
mod doctor;
mod explorer;
pub mod graph;
#[doc(hidden)]
pub mod json;
mod memory;
mod plot;
mod profile;
mod sparkline;
mod svg;
mod terminal;
mod thinning;
mod ticks;
mod xml;

pub use doctor::{Diagnosis, Doctor, Fault, Finding, doctor};
pub use explorer::{Explorer, Stage, stages};
pub use graph::{
    Collapse, Edge, EdgeKind, Graph, Group, GroupKind, MOST_NODES, Node, NodeKind, Saved, Summary, graph, plan,
    program, run,
};
pub use memory::{MemoryChange, MemoryReport, memory_report};
pub use plot::Plot;
pub use profile::{Ceilings, Profile, ProfileCall, ProfileRow, profile};
pub use sparkline::sparkline;
