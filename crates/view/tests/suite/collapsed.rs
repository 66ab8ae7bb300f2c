//! Large graphs, and those with several nodes in one.

use crate::xml::elements;
use wengert::prelude::*;
use wengert_view::{Collapse, EdgeKind, Graph, MOST_NODES, NodeKind, graph, plan, program};

/// Pseudorandom numbers below `n`.
fn random(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % n
}

/// The width and the height of an SVG.
fn size(svg: &str) -> (f64, f64) {
    let root = &elements(svg).unwrap()[0];
    let number = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    (number("width"), number("height"))
}

fn chain(count: usize) -> Graph {
    let x = Tensor::from(0.5).require_grad();
    graph(&Tape::of(&(1..count).fold(x, |x, _| x.sin())))
}

#[test]
fn a_chain_of_ten_thousand_nodes_is_drawn() {
    let graph = chain(MOST_NODES);
    assert_eq!(graph.nodes().len(), MOST_NODES);
    let svg = graph.svg();
    let (width, height) = size(&svg);
    assert!(width < 1000.0, "{width}");
    assert!((50.0..200.0).contains(&(height / MOST_NODES as f64)), "{height}");
    assert_eq!(graph.terminal(100).lines().filter(|line| line.starts_with('●')).count(), MOST_NODES - 1);
    assert_eq!(graph.dot().matches(" -> ").count(), MOST_NODES - 1);
}

#[test]
fn ten_thousand_tangled_nodes_are_drawn() {
    let (mut state, mut nodes) = (1, vec![Tensor::from(1.0).require_grad(), Tensor::from(2.0).require_grad()]);
    for last in 1..MOST_NODES - 1 {
        nodes.push(&nodes[last] + &nodes[random(&mut state, last)]);
    }
    let graph = graph(&Tape::of(&nodes[MOST_NODES - 1]));
    assert_eq!((graph.nodes().len(), graph.edges().len()), (MOST_NODES, 2 * (MOST_NODES - 2)));
    let svg = graph.svg();
    let (width, height) = size(&svg);
    assert!(width < 500_000.0 && height < 2_500_000.0, "{width} x {height}");
    assert!(svg.len() < 30_000_000, "{} bytes", svg.len());
    assert!(graph.terminal(100).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn thousands_of_nodes_in_wide_layers_are_drawn() {
    let mut state = 7;
    let mut layer: Vec<Tensor> = (0..100).map(|i| Tensor::from(f64::from(i)).require_grad()).collect();
    for _ in 0..90 {
        let sum = |_| &layer[random(&mut state, 100)] + &layer[random(&mut state, 100)];
        layer = (0..100).map(sum).collect();
    }
    let all = layer.iter().skip(1).fold(layer[0].clone(), |sum, x| sum + x);
    let graph = graph(&Tape::of(&all));
    assert!((7_000..=MOST_NODES).contains(&graph.nodes().len()), "{}", graph.nodes().len());
    let (width, height) = size(&graph.svg());
    assert!(width < 100_000.0 && height < 100_000.0, "{width} x {height}");
}

#[test]
fn thousands_of_leaves_beside_each_other_are_drawn() {
    let leaves: Vec<Tensor> = (0..9000).map(|i| Tensor::from([i as f64]).require_grad()).collect();
    let graph = graph(&Tape::of(&Tensor::concat(&leaves, 0)));
    assert!(graph.edges().len() >= 9000 && graph.nodes().len() <= MOST_NODES);
    let (width, height) = size(&graph.svg());
    assert!(width < 200.0 * MOST_NODES as f64 && height < 1000.0, "{width} x {height}");
    assert!(graph.terminal(100).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn larger_graphs_are_collapsed_and_say_so() {
    let graph = chain(MOST_NODES + 1);
    assert_eq!(graph.nodes().len(), 2, "the leaf, and the line of the loop");
    let line = &graph.nodes()[1];
    assert_eq!((line.kind, line.members, line.operation.as_str()), (NodeKind::Collapsed, MOST_NODES, "10000 sin"));
    assert!(line.label.starts_with("suite/collapsed.rs:"), "{}", line.label);
    assert_eq!(line.saved_bytes, 8 * MOST_NODES);
    assert!(
        graph.notes().iter().any(|note| note == "Collapsed by source line: 2 nodes for 10001."),
        "{:?}",
        graph.notes()
    );
    assert!(graph.svg().contains("Collapsed by source line"));
}

#[test]
fn lines_of_a_loop_become_a_cycle() {
    let mut x = Tensor::from(0.5).require_grad();
    for _ in 0..100 {
        x = x.sin();
        x = x.cos();
    }
    let graph = graph(&Tape::of(&x)).collapsed(Collapse::Line);
    let edges: Vec<(usize, usize, usize)> = graph.edges().iter().map(|edge| (edge.from, edge.to, edge.count)).collect();
    assert_eq!(edges, [(0, 1, 1), (1, 2, 100), (2, 1, 99)]);
    assert!(elements(&graph.svg()).is_ok());
    assert!(graph.svg().contains("99 edges"));
    assert_eq!(graph.terminal(80).matches('▣').count(), 2);
}

#[test]
fn nodes_are_collapsed_by_file_and_by_group() {
    let text = "program(a: f64[]) {\n  b: f64[] = exp(a)  // one.rs:1:1\n  c: f64[] = sin(b)  // one.rs:2:1\n  \
                d: f64[] = cos(c)  // two.rs:1:1\n  return d\n}";
    let parsed = program(&Program::parse(text).unwrap()).collapsed(Collapse::File);
    let labels: Vec<&str> = parsed.nodes().iter().map(|node| node.label.as_str()).collect();
    assert_eq!(labels, ["a", "one.rs", "d = cos(c)", "output 0 = d"]);

    let f = compile(|x: &Tensor| x.exp().tanh().cumsum(0).sin().cos());
    let plan = plan(&f.plan(&Tensor::zeros([100])));
    let kernels = plan.clone().collapsed(Collapse::Group);
    assert!(kernels.groups().is_empty() && kernels.nodes().len() < plan.nodes().len());
    let kinds: Vec<NodeKind> = kernels.nodes().iter().map(|node| node.kind).collect();
    use NodeKind::{Kernel, Leaf, Output};
    assert_eq!(kinds, [Leaf, Kernel, Kernel, Kernel, Output]);
    assert_eq!(kernels.nodes()[1].operation, "loop over 100 elements: exp, tanh");
    assert!(kernels.edges().iter().all(|edge| edge.kind == EdgeKind::Forward && edge.count == 1));
}

#[test]
fn contributions_of_several_edges_are_not_mixed_up() {
    let x = Tensor::from(0.5).require_grad();
    let y = record_values(|| {
        let y = (0..3).fold(x.clone(), |y, _| &y * &x);
        y.backward_with(Backward::new().retain_graph());
        y
    });
    let graph = graph(&Tape::of(&y)).collapsed(Collapse::Line);
    let adjoint: Vec<_> = graph.edges().iter().filter(|edge| edge.kind == EdgeKind::Adjoint).collect();
    assert_eq!((adjoint.len(), adjoint[0].count, &adjoint[0].contribution), (1, 4, &None));
}
