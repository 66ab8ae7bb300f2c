//! Graphs of programs.

use crate::graph::formula::{formula, name as operation};
use crate::graph::model::{Edge, EdgeKind, Graph, Group, GroupKind, Node, NodeKind, Subject};
use crate::graph::numbers::counted;
use crate::graph::summary::Summary;
use wengert_engine::Tensor;
use wengert_engine::program::{Equation, Program, ProgramAttrs, Var};

/// The graph of a program: inputs, constants, one node for each equation, and outputs. Programs that a loop or a branch runs are groups of
/// their own.
///
/// More than [`MOST_NODES`](crate::MOST_NODES) nodes are [collapsed](Graph::collapsed) by line.
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::program;
///
/// let graph = program(&compile(grad(|x: &Tensor| x.sin())).program(&Tensor::from(1.0)));
/// let derivative = graph.nodes().iter().find(|node| node.from_rule).unwrap();
/// assert_eq!(derivative.operation, "slope[of=sin, operand=0]");
/// ```
pub fn program(program: &Program) -> Graph {
    let title = format!("Program of {}", counted(program.equations().len(), "equation"));
    whole(program, title).within_limit()
}

/// The graph of a program, however large it is.
pub(super) fn whole(program: &Program, title: String) -> Graph {
    let mut graph = Graph { subject: Subject::Program, title, ..Graph::default() };
    let mut bodies = graph.add_program(program, "", None);
    // Bodies come after the program that runs them, so that all edges lead forward.
    let mut next = 0;
    while next < bodies.len() {
        let Body { call, name, program } = &bodies[next];
        let (call, caller) = (*call, &graph.nodes[*call]);
        let (prefix, label) =
            (format!("{}.{name}.", caller.id), format!("{name} of {} {}", operation(&caller.operation), caller.id));
        graph.groups.push(Group { label, kind: GroupKind::Body, head: None });
        let first = graph.nodes.len();
        let nested = graph.add_program(program, &prefix, Some(graph.groups.len() - 1));
        let all = first..graph.nodes.len();
        let inputs: Vec<usize> = all.clone().filter(|&node| graph.nodes[node].kind == NodeKind::Leaf).collect();
        // A program without inputs is entered at its first node.
        let entries = if inputs.is_empty() { all.take(1).collect() } else { inputs };
        graph.edges.extend(entries.into_iter().map(|entry| Edge::new(call, entry, EdgeKind::Body, 0)));
        bodies.extend(nested);
        next += 1;
    }
    graph
}

/// A program that a call runs.
struct Body<'p> {
    call: usize,
    name: String,
    program: &'p Program,
}

/// Where a variable is defined.
#[derive(Clone, Copy)]
struct Definition {
    node: usize,
    is_one_of_several: bool,
}

impl Graph {
    /// Adds the nodes and edges of a program, and returns the programs that its equations run.
    fn add_program<'p>(&mut self, program: &'p Program, prefix: &str, group: Option<usize>) -> Vec<Body<'p>> {
        let mut defined: Vec<Option<Definition>> = vec![None; program.variables()];
        for node in program.inputs().iter().enumerate().map(|(place, var)| input(program, place, *var)) {
            self.add(node, prefix, group);
        }
        for (var, tensor) in program.captures() {
            self.add(captured(program, *var, tensor), prefix, group);
        }
        let given = program.inputs().iter().chain(program.captures().iter().map(|(var, _)| var));
        for (var, node) in given.zip(self.nodes.len() - program.inputs().len() - program.captures().len()..) {
            defined[var.index()] = Some(Definition { node, is_one_of_several: false });
        }
        let mut bodies = Vec::new();
        for (number, (equation, cost)) in program.equations().iter().zip(program.costs()).enumerate() {
            let call = self.add(Node { cost: Some(cost), ..computed(program, number) }, prefix, group);
            for (operand, var) in equation.inputs.iter().enumerate() {
                let from = defined[var.index()].expect("operands are defined before they are read");
                let name = if from.is_one_of_several { var.to_string() } else { String::new() };
                self.edges.push(Edge { name, ..Edge::new(from.node, call, EdgeKind::Forward, operand) });
            }
            let is_one_of_several = equation.outputs.len() > 1;
            for var in &equation.outputs {
                defined[var.index()] = Some(Definition { node: call, is_one_of_several });
            }
            bodies.extend(bodies_of(equation, call));
        }
        for (place, var) in program.outputs().iter().enumerate() {
            let node = self.add(output(program, place, *var), prefix, group);
            let from = defined[var.index()].expect("outputs are defined");
            self.edges.push(Edge::new(from.node, node, EdgeKind::Forward, 0));
        }
        bodies
    }

    fn add(&mut self, node: Node, prefix: &str, group: Option<usize>) -> usize {
        self.nodes.push(Node { id: format!("{prefix}{}", node.id), group, ..node });
        self.nodes.len() - 1
    }
}

/// The programs that an equation runs. Several of one name, such as branches, are numbered.
fn bodies_of(equation: &Equation, call: usize) -> Vec<Body<'_>> {
    let names: Vec<&str> = equation.attrs.bodies().map(|(name, _)| name).collect();
    let numbered = |place: usize, name: &str| {
        let before = names[..place].iter().filter(|other| **other == name).count();
        let is_only = names.iter().filter(|other| **other == name).count() == 1;
        if is_only { name.to_string() } else { format!("{name} {before}") }
    };
    let bodies = equation.attrs.bodies().enumerate();
    bodies.map(|(place, (name, program))| Body { call, name: numbered(place, name), program }).collect()
}

/// The node of an input.
pub(super) fn input(program: &Program, place: usize, var: Var) -> Node {
    let shape = program.spec(var).to_string();
    Node { operation: format!("input {place}"), shape, ..Node::new(var.to_string(), NodeKind::Leaf, var.to_string()) }
}

/// The node of a captured tensor.
pub(super) fn captured(program: &Program, var: Var, tensor: &Tensor) -> Node {
    let (operation, value) = match tensor.is_plain() {
        true => ("constant", Some(Summary::of(tensor))),
        false => ("captured tensor that requires gradients", None),
    };
    let shape = program.spec(var).to_string();
    let node = Node::new(var.to_string(), NodeKind::Constant, var.to_string());
    Node { operation: operation.to_string(), value, shape, ..node }
}

/// The node of an equation.
pub(super) fn computed(program: &Program, number: usize) -> Node {
    let equation = &program.equations()[number];
    let names = |vars: &[Var]| vars.iter().map(Var::to_string).collect::<Vec<_>>();
    let (results, operation) = (names(&equation.outputs), format!("{}{}", equation.op.name(), equation.attrs));
    let id = results.first().cloned().unwrap_or_else(|| format!("equation {number}"));
    let label = formula(&results.join(", "), &operation, &names(&equation.inputs));
    let shapes: Vec<String> = equation.outputs.iter().map(|var| program.spec(*var).to_string()).collect();
    Node {
        operation,
        rule: equation.op.rule_text().to_string(),
        shape: shapes.join(", "),
        line: equation.line,
        from_rule: equation.from_rule,
        ..Node::new(id, NodeKind::Operation, label)
    }
}

/// The node of a result of the program.
pub(super) fn output(program: &Program, place: usize, var: Var) -> Node {
    let (name, shape) = (format!("output {place}"), program.spec(var).to_string());
    Node { shape, operation: name.clone(), ..Node::new(name.clone(), NodeKind::Output, format!("{name} = {var}")) }
}
