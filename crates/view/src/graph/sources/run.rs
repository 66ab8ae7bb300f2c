//! Graphs of runs of the debugger.

use super::program::whole;
use crate::graph::collapse::MOST_NODES;
use crate::graph::model::{Graph, NodeKind};
use crate::graph::numbers::counted;
use crate::graph::summary::Summary;
use std::collections::HashMap;
use wengert_engine::{Run, Tensor};

/// The graph of a program with the values of a run of the debugger, up to an error if there was one. The values inside of loops and
/// branches are not among them, and of an equation with several results the first is shown.
///
/// More than [`MOST_NODES`] nodes are [collapsed](Graph::collapsed) by line.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::run;
///
/// let f = compile(value_and_grad(|x: &Tensor| (x - 1.0).log().sum()));
/// let graph = run(&f.debug().run(&Tensor::from([3.0, 2.0])));
/// let log = graph.nodes().iter().find(|node| node.operation == "log").unwrap();
/// assert_eq!(log.value.as_ref().unwrap().to_string(), "[0.6931, 0]");
/// ```
pub fn run(run: &Run) -> Graph {
    let program = run.program();
    let title = format!("Run of {}", counted(program.equations().len(), "equation"));
    let mut graph = whole(program, title);
    // A graph that will be collapsed needs no numbers.
    if graph.nodes.len() <= MOST_NODES {
        let given = program.inputs().iter().chain(program.captures().iter().map(|(var, _)| var));
        let named = given.filter_map(|var| Some((var.to_string(), run.value(&var.to_string())?)));
        let computed = run.steps().filter_map(|step| step.outputs().next());
        let values: HashMap<String, &Tensor> = named.chain(computed).collect();
        let results = program.outputs().iter().enumerate();
        let results =
            results.filter_map(|(place, var)| Some((format!("output {place}"), *values.get(&var.to_string())?)));
        let results: HashMap<String, &Tensor> = results.collect();
        // The names of a body's variables begin with that of its call.
        for node in graph.nodes.iter_mut().filter(|node| node.group.is_none()) {
            let known = if node.kind == NodeKind::Output { &results } else { &values };
            node.value = known.get(&node.id).filter(|tensor| tensor.is_plain()).map(|tensor| Summary::of(tensor));
        }
    }
    if let Some(error) = run.error() {
        graph.notes.push(format!("The run ended with an error: {error}"));
    }
    graph.within_limit()
}
