//! Graphs of tapes, programs and plans, and their pictures.
//!
//! [`graph`], [`program`], [`plan`] and [`run`] describe what there is as a [`Graph`]: nodes, edges, groups and notes, in plain data. A graph is
//! drawn as SVG, as text for the terminal, or written in the language of Graphviz or as JSON. Pictures are deterministic, and need no other
//! program.
//!
//! ```
//! use wengert::prelude::*;
//! use wengert_view::{EdgeKind, graph};
//!
//! let (x1, x2) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
//! let y = record_values(|| {
//!     let y = &x1 * &x2 + x1.sin();
//!     y.backward_with(Backward::new().retain_graph());
//!     y
//! });
//! let graph = graph(&Tape::of(&y));
//! assert_eq!(graph.nodes()[2].label, "v3 = v1 · v2");
//! assert_eq!(graph.edges().iter().filter(|edge| edge.kind == EdgeKind::Adjoint).count(), 5);
//! assert!(graph.svg().contains("v3 = v1 · v2"));
//! println!("{}", graph.terminal(100));
//! ```

mod card;
mod collapse;
mod dot;
mod formula;
mod json;
pub(crate) mod layout;
pub(crate) mod model;
pub(crate) mod numbers;
pub(crate) mod picture;
mod sources;
mod style;
mod summary;
mod svg;
mod terminal;
mod units;

pub use collapse::{Collapse, MOST_NODES};
pub use model::{Edge, EdgeKind, Graph, Group, GroupKind, Node, NodeKind, Saved};
pub use sources::{graph, plan, program, run};
pub use summary::Summary;
