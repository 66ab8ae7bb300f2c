//! Graphs of plans.

use super::program::{captured, computed, input, output};
use crate::graph::model::{Edge, EdgeKind, Graph, Group, GroupKind, Node, NodeKind, Subject};
use crate::graph::numbers::{bytes, counted};
use wengert_engine::PlanSummary;

/// The graph of a plan: its kernels, with edges for the memory that they read. The equations that a kernel fuses are a group with the
/// kernel as its head.
///
/// If there are more than [`MOST_NODES`](crate::MOST_NODES) nodes, kernels are [collapsed](Graph::collapsed).
///
/// ```
/// use wengert::prelude::*;
/// use wengert_view::{NodeKind, plan};
///
/// let graph = plan(&compile(|x: &Tensor| x.exp().tanh().sum()).plan(&Tensor::zeros([100])));
/// let kernel = graph.nodes().iter().find(|node| node.kind == NodeKind::Kernel).unwrap();
/// assert_eq!(kernel.operation, "loop over 100 elements: exp, tanh, sum");
/// ```
pub fn plan(plan: &PlanSummary) -> Graph {
    let title = format!("Plan of {}", counted(plan.kernels(), "kernel"));
    let mut graph = Graph { subject: Subject::Plan, title, ..Graph::default() };
    let (work, all) = (bytes(plan.workspace_bytes()), bytes(plan.total_bytes()));
    graph.notes.push(format!("A call needs {all} of memory, of which {work} are workspace."));
    let given = graph.add_given(plan);
    let (mut fused, mut heads) = (Fused::new(plan), Vec::new());
    for kernel in 0..plan.kernels() {
        let head = graph.add_kernel(plan, &mut fused, kernel);
        let operands = plan.kernel_operands(kernel).iter().filter_map(|var| given[var.index()]);
        let sources = plan.kernel_sources(kernel).iter().map(|source| heads[*source]);
        let reads = operands.chain(sources).enumerate();
        graph.edges.extend(reads.map(|(operand, from)| Edge::new(from, head, EdgeKind::Forward, operand)));
        heads.push(head);
    }
    for (kernel, head) in heads.into_iter().enumerate() {
        for &place in plan.kernel_results(kernel) {
            graph.nodes.push(output(plan.program(), place, plan.program().outputs()[place]));
            graph.edges.push(Edge::new(head, graph.nodes.len() - 1, EdgeKind::Forward, 0));
        }
    }
    graph.within_limit()
}

impl Graph {
    /// Adds the inputs and constants that kernels read, and returns their nodes by variable.
    fn add_given(&mut self, plan: &PlanSummary) -> Vec<Option<usize>> {
        let program = plan.program();
        let mut is_read = vec![false; program.variables()];
        let read = (0..plan.kernels()).flat_map(|kernel| plan.kernel_operands(kernel));
        read.for_each(|var| is_read[var.index()] = true);
        let inputs = program.inputs().iter().enumerate().map(|(place, var)| (*var, input(program, place, *var)));
        let captures = program.captures().iter().map(|(var, tensor)| (*var, captured(program, *var, tensor)));
        let mut given = vec![None; program.variables()];
        for (var, node) in inputs.chain(captures).filter(|(var, _)| is_read[var.index()]) {
            given[var.index()] = Some(self.nodes.len());
            self.nodes.push(node);
        }
        given
    }

    /// Adds a kernel with the equations that it fuses, and returns its node.
    fn add_kernel(&mut self, plan: &PlanSummary, fused: &mut Fused, kernel: usize) -> usize {
        let (text, equations) = (plan.kernel_text(kernel), plan.kernel_equations(kernel));
        let id = format!("kernel {kernel}");
        let head = self.nodes.len();
        // The text after the name of a call lists operands and results; that of a loop lists its operations, which have nodes of their own.
        let (what, shape) = text.split_once(": ").filter(|_| equations.is_empty()).unwrap_or((text, ""));
        let parts: Vec<&str> = what.split("; ").map(|part| part.split(": ").next().unwrap_or(part)).collect();
        let label = format!("{id}: {}", parts.join("; "));
        let group = (!equations.is_empty()).then_some(self.groups.len());
        if group.is_some() {
            self.groups.push(Group { label: label.clone(), kind: GroupKind::Kernel, head: Some(head) });
        }
        self.nodes.push(Node {
            operation: text.to_string(),
            shape: shape.to_string(),
            milliseconds: plan.times().get(kernel).copied(),
            group,
            ..Node::new(id, NodeKind::Kernel, label)
        });
        self.add_equations(plan, fused, kernel, group);
        head
    }

    /// Adds the equations that a kernel fuses, with the edges between them.
    fn add_equations(&mut self, plan: &PlanSummary, fused: &mut Fused, kernel: usize, group: Option<usize>) {
        for &number in plan.kernel_equations(kernel) {
            let node = self.nodes.len();
            for (operand, var) in plan.program().equations()[number].inputs.iter().enumerate() {
                let Some(Origin { equation, view }) = fused.origins[var.index()] else { continue };
                if let Some((_, from)) = fused.nodes[equation].filter(|(other, _)| *other == kernel) {
                    let name = view.unwrap_or_default().to_string();
                    self.edges.push(Edge { name, ..Edge::new(from, node, EdgeKind::Forward, operand) });
                }
            }
            self.nodes.push(Node { group, ..computed(plan.program(), number) });
            fused.nodes[number] = Some((kernel, node));
        }
    }
}

/// The equations that are parts of loops.
struct Fused {
    /// By variable.
    origins: Vec<Option<Origin>>,
    /// By equation: its kernel and its node, once it has one.
    nodes: Vec<Option<(usize, usize)>>,
}

/// The fused equation that computes a variable. A loop reads the results of its own equations also through views, which no kernel computes.
#[derive(Clone, Copy)]
struct Origin {
    equation: usize,
    /// The last operation in between.
    view: Option<&'static str>,
}

impl Fused {
    fn new(plan: &PlanSummary) -> Fused {
        let program = plan.program();
        let mut is_fused = vec![false; program.equations().len()];
        let all = (0..plan.kernels()).flat_map(|kernel| plan.kernel_equations(kernel));
        all.for_each(|number| is_fused[*number] = true);
        let mut origins: Vec<Option<Origin>> = vec![None; program.variables()];
        for (number, equation) in program.equations().iter().enumerate() {
            match (&equation.inputs[..], &equation.outputs[..]) {
                (_, outputs) if is_fused[number] => {
                    outputs.iter().for_each(|y| origins[y.index()] = Some(Origin { equation: number, view: None }));
                }
                // A kernel other than that of the origin may compute it, but then the kernel of the origin does not read it.
                ([x], [y]) => {
                    let view = Some(equation.op.name());
                    origins[y.index()] = origins[x.index()].map(|origin| Origin { view, ..origin });
                }
                _ => {}
            }
        }
        Fused { origins, nodes: vec![None; program.equations().len()] }
    }
}
