//! Expressions such as `x1*x2 + sin(x1)`: text, tree, program.
//!
//! The parser turns the text into a list of nodes, each after its operands, so evaluation is a loop. Every node knows its place in the text:
//! faults point there, and so do the equations of the program that an expression is traced to.

mod evaluation;
mod fault;
mod functions;
mod lexer;
mod parser;
mod trace;
mod tree;

pub use fault::{Fault, Span};
pub use parser::{constant, parse};
pub use trace::Traced;
pub use tree::Tree;
