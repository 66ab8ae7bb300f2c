//! Chooses the residuals, the values that a forward program passes to a backward program: those with the fewest bytes from which the rest
//! can be recomputed by cheap elementwise operations and views. Products, reductions, random numbers and user-defined operations are never
//! repeated.
//!
//! The residuals are a cut through the graph of equations that can be repeated, so the fewest bytes are a minimum cut, found by maximum
//! flow. Among cuts of the same size, the one that repeats least is chosen.

use super::{Equation, Program, Var};
use crate::primitive::Layout;
use smallvec::SmallVec;

/// More than any number of bytes.
const UNLIMITED: u64 = u64::MAX / 4;

/// By equation, whether the backward program repeats it, given that it needs the variables `needed` and that a residual costs `price`
/// bytes. `makers` are the equations that define variables.
pub(super) fn repeated(
    program: &Program,
    makers: &[Option<usize>],
    needed: &[Var],
    price: impl Fn(Var) -> usize,
) -> Vec<bool> {
    let mut is_captured = vec![false; program.specs.len()];
    program.captures.iter().for_each(|(var, _)| is_captured[var.index()] = true);
    let mut graph = Graph::default();
    // By variable, its node in the graph: inflow and outflow are two nodes.
    let mut places: Vec<Option<usize>> = vec![None; program.specs.len()];
    let mut vars: Vec<Var> = Vec::new();
    let mut place = |var: Var, graph: &mut Graph, vars: &mut Vec<Var>| {
        *places[var.index()].get_or_insert_with(|| {
            vars.push(var);
            let is_view = makers[var.index()].is_some_and(|number| is_view(program, &program.equations[number]));
            // At equal bytes, prefer fewer values, and no copies of views.
            let capacity = price(var) as u64 * 4 * program.specs.len() as u64;
            let capacity = if capacity == 0 { 0 } else { capacity + 1 + u64::from(is_view) };
            graph.add_value(capacity)
        })
    };
    for var in needed {
        let node = place(*var, &mut graph, &mut vars);
        graph.connect(node + 1, SINK, UNLIMITED);
    }
    let mut next = 0;
    while next < vars.len() {
        let var = vars[next];
        next += 1;
        let node = place(var, &mut graph, &mut vars);
        match makers[var.index()]
            .map(|number| &program.equations[number])
            .filter(|equation| is_cheap(program, equation))
        {
            None => graph.connect(SOURCE, node, UNLIMITED),
            Some(equation) => {
                for operand in equation.inputs.iter().filter(|operand| !is_captured[operand.index()]) {
                    let from = place(*operand, &mut graph, &mut vars);
                    graph.connect(from + 1, node, UNLIMITED);
                }
            }
        }
    }
    let behind = graph.behind_the_cut();
    let mut repeated = vec![false; program.equations.len()];
    for var in vars {
        if let (Some(node), Some(number)) = (places[var.index()], makers[var.index()]) {
            repeated[number] |= behind[node];
        }
    }
    repeated
}

/// Whether an equation is a view.
fn is_view(program: &Program, equation: &Equation) -> bool {
    let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) else { return false };
    let layout = Layout::contiguous(program.spec(*x).shape.clone());
    equation.op.view(&equation.attrs, &layout, program.spec(*y)).is_some()
}

/// Whether an equation is a view or can be part of a fused loop.
fn is_cheap(program: &Program, equation: &Equation) -> bool {
    let [output] = equation.outputs[..] else { return false };
    let dtypes: SmallVec<[_; 3]> = equation.inputs.iter().map(|input| program.spec(*input).dtype).collect();
    let is_lane = || equation.op.lowered().lane(&equation.attrs, &dtypes, program.spec(output).dtype).is_some();
    is_view(program, equation) || is_lane()
}

const SOURCE: usize = 0;
const SINK: usize = 1;

struct Edge {
    to: usize,
    /// The residual capacity.
    left: u64,
}

/// A flow network; edge `i ^ 1` is the reverse of edge `i`.
struct Graph {
    edges: Vec<Edge>,
    /// By node, its outgoing edges.
    leaving: Vec<Vec<usize>>,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph { edges: Vec::new(), leaving: vec![Vec::new(); 2] }
    }
}

impl Graph {
    /// Adds two nodes connected with this capacity, and returns the first.
    fn add_value(&mut self, capacity: u64) -> usize {
        let node = self.leaving.len();
        self.leaving.resize(node + 2, Vec::new());
        self.connect(node, node + 1, capacity);
        node
    }

    fn connect(&mut self, from: usize, to: usize, capacity: u64) {
        for (from, to, left) in [(from, to, capacity), (to, from, 0)] {
            self.leaving[from].push(self.edges.len());
            self.edges.push(Edge { to, left });
        }
    }

    /// By node, whether it is on the sink side of the minimum cut nearest to the sink.
    fn behind_the_cut(mut self) -> Vec<bool> {
        while let Some(levels) = self.levels() {
            let mut next = vec![0; self.leaving.len()];
            while self.push(&levels, &mut next) {}
        }
        let mut behind = vec![false; self.leaving.len()];
        behind[SINK] = true;
        let mut stack = vec![SINK];
        while let Some(node) = stack.pop() {
            for &edge in &self.leaving[node] {
                let from = self.edges[edge].to;
                if self.edges[edge ^ 1].left > 0 && !std::mem::replace(&mut behind[from], true) {
                    stack.push(from);
                }
            }
        }
        behind
    }

    /// Distances from the source, if the sink can be reached.
    fn levels(&self) -> Option<Vec<usize>> {
        let mut levels = vec![usize::MAX; self.leaving.len()];
        levels[SOURCE] = 0;
        let mut queue = std::collections::VecDeque::from([SOURCE]);
        while let Some(node) = queue.pop_front() {
            for &edge in &self.leaving[node] {
                let Edge { to, left } = self.edges[edge];
                if left > 0 && levels[to] == usize::MAX {
                    levels[to] = levels[node] + 1;
                    queue.push_back(to);
                }
            }
        }
        (levels[SINK] != usize::MAX).then_some(levels)
    }

    /// Augments the flow along one shortest path; `next` is the first edge of each node that may still be useful.
    fn push(&mut self, levels: &[usize], next: &mut [usize]) -> bool {
        let mut way: Vec<usize> = Vec::new();
        let mut node = SOURCE;
        while node != SINK {
            match self.leaving[node].get(next[node]) {
                Some(&edge) => {
                    let Edge { to, left } = self.edges[edge];
                    if left > 0 && levels[to] == levels[node] + 1 {
                        way.push(edge);
                        node = to;
                    } else {
                        next[node] += 1;
                    }
                }
                None => {
                    let Some(back) = way.pop() else { return false };
                    node = self.edges[back ^ 1].to;
                    next[node] += 1;
                }
            }
        }
        let flow = way.iter().map(|&edge| self.edges[edge].left).min().unwrap_or(0);
        for edge in way {
            self.edges[edge].left -= flow;
            self.edges[edge ^ 1].left += flow;
        }
        true
    }
}
