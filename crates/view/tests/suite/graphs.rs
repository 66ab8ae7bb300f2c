//! Graphs as data, and the pictures of small ones. `WENGERT_BLESS=1` rewrites the files.

use crate::samples::{classic, control_flow, network_program, network_tape};
use crate::xml::{Element, elements};
use std::fs;
use std::path::Path;
use wengert::prelude::*;
use wengert_view::{Edge, EdgeKind, Graph, GroupKind, Node, NodeKind, Summary, graph, plan, program};

fn node<'g>(graph: &'g Graph, id: &str) -> &'g Node {
    graph.nodes().iter().find(|node| node.id == id).unwrap_or_else(|| panic!("no node {id}"))
}

fn number(summary: &Option<Summary>) -> f64 {
    summary.as_ref().unwrap().elements.as_ref().unwrap()[0]
}

#[test]
fn the_classic_tape_has_its_numbers() {
    let graph = classic();
    let labels: Vec<&str> = graph.nodes().iter().map(|node| node.label.as_str()).collect();
    assert_eq!(labels, ["v1 = x1", "v2 = x2", "v3 = v1 · v2", "v4 = sin(v1)", "v5 = v3 + v4"]);
    let values: Vec<f64> = graph.nodes().iter().map(|node| number(&node.value)).collect();
    assert_eq!(values, [2.0, 3.0, 6.0, 2f64.sin(), 6.0 + 2f64.sin()]);
    let adjoints: Vec<f64> = graph.nodes().iter().map(|node| number(&node.adjoint)).collect();
    assert_eq!(adjoints, [3.0 + 2f64.cos(), 2.0, 1.0, 1.0, 1.0]);

    let of = |kind: EdgeKind| graph.edges().iter().filter(move |edge| edge.kind == kind);
    let forward: Vec<(usize, usize, usize, bool)> =
        of(EdgeKind::Forward).map(|edge| (edge.from, edge.to, edge.operand, edge.saved)).collect();
    let expected = [(0, 2, 0, true), (1, 2, 1, true), (0, 3, 0, true), (2, 4, 0, false), (3, 4, 1, false)];
    assert_eq!(forward, expected);
    let adjoint: Vec<(usize, usize, f64)> =
        of(EdgeKind::Adjoint).map(|edge| (edge.from, edge.to, number(&edge.contribution))).collect();
    assert_eq!(adjoint, [(2, 0, 3.0), (2, 1, 2.0), (3, 0, 2f64.cos()), (4, 2, 1.0), (4, 3, 1.0)]);

    assert_eq!(graph.fan_out(), [2, 1, 1, 1, 0]);
    let kept: Vec<Option<usize>> = graph.nodes()[2].saved.iter().map(|saved| saved.node).collect();
    assert_eq!(kept, [Some(0), Some(1)], "a product keeps both operands");
    assert_eq!((graph.nodes()[2].saved_bytes, graph.nodes()[4].saved_bytes), (16, 0));
    assert_eq!(graph.nodes()[3].rule, "dx = cos(x) dy");
    assert_eq!(graph.nodes()[4].reverse, Some(0));
    assert!(graph.notes().is_empty());
    assert!(graph.nodes()[2].line.unwrap().file().ends_with("samples.rs"));
}

#[test]
fn without_recorded_values_the_picture_says_how_to_get_them() {
    let x = Tensor::from(2.0).require_grad();
    let bare = graph(&Tape::of(&(&x * &x)));
    assert!(bare.notes()[0].contains("record_values(|| ..)"), "{:?}", bare.notes());
    assert!(bare.nodes().iter().all(|node| node.value.is_none() && node.adjoint.is_none()));
    assert!(bare.svg().contains("record_values"));
    let forward_only = graph(&Tape::of(&record_values(|| &x * &x)));
    assert_eq!(number(&forward_only.nodes()[1].value), 4.0);
    assert!(forward_only.notes()[0].contains("There are no adjoints"), "{:?}", forward_only.notes());
    assert_eq!(graph(&Tape::of(&Tensor::from(1.0))).nodes().len(), 0, "a constant has no tape");
}

#[test]
fn large_values_are_summarised() {
    let graph = network_tape();
    let weight = node(&graph, "v1").value.as_ref().unwrap();
    assert_eq!((weight.shape.as_str(), weight.elements.is_none()), ("f64[3, 8]", true));
    assert_eq!(weight.statistics.unwrap().maximum, 1.0);
    assert!(graph.json().len() < 40_000, "{} bytes", graph.json().len());
}

#[test]
fn a_program_has_inputs_constants_equations_and_outputs() {
    let f = |(a, b): &(Tensor, Tensor)| (a * b + 2.0, a.max_along(0));
    let graph = program(&compile(f).program(&(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]))));
    let count = |kind: NodeKind| graph.nodes().iter().filter(|node| node.kind == kind).count();
    assert_eq!((count(NodeKind::Leaf), count(NodeKind::Output)), (2, 3));
    assert_eq!(count(NodeKind::Operation), graph.nodes().len() - count(NodeKind::Constant) - 5);
    let several = graph.edges().iter().filter(|edge| !edge.name.is_empty()).count();
    assert_eq!(several, 0, "outputs name the variable that they return");
    let product = graph.nodes().iter().find(|node| node.operation == "mul").unwrap();
    assert_eq!((product.shape.as_str(), product.cost.unwrap().flops), ("f64[2]", 2.0));
    assert!(graph.edges().iter().all(|edge| edge.from < edge.to), "nodes stand in the order of computation");
}

#[test]
fn bodies_are_groups_below_their_call() {
    let graph = control_flow();
    let labels: Vec<&str> = graph.groups().iter().map(|group| group.label.split(" of ").next().unwrap()).collect();
    assert_eq!(labels, ["body", "branch 0", "branch 1"]);
    let ids: Vec<&String> = graph.nodes().iter().map(|node| &node.id).collect();
    let different: std::collections::BTreeSet<&&String> = ids.iter().collect();
    assert_eq!(different.len(), ids.len());
    for (group, _) in graph.groups().iter().enumerate() {
        let entries = graph.edges().iter().filter(|edge| edge.kind == EdgeKind::Body);
        assert!(entries.into_iter().any(|edge| graph.nodes()[edge.to].group == Some(group)));
    }
    for edge in graph.edges().iter().filter(|edge| edge.kind == EdgeKind::Forward) {
        assert_eq!(graph.nodes()[edge.from].group, graph.nodes()[edge.to].group);
    }
}

#[test]
fn a_plan_shows_what_kernels_fuse_and_read() {
    let f = compile(|(x, w): &(Tensor, Tensor)| {
        let y = x.matmul(w);
        (&y + 1.0).tanh().matmul(w).sum()
    });
    let summary = f.plan(&(Tensor::zeros([4, 4]), Tensor::zeros([4, 4])));
    let graph = plan(&summary);
    let kernels: Vec<&Node> = graph.nodes().iter().filter(|node| node.kind == NodeKind::Kernel).collect();
    let operations: Vec<&str> = kernels.iter().map(|node| node.operation.as_str()).collect();
    assert_eq!(operations, (0..summary.kernels()).map(|kernel| summary.kernel_text(kernel)).collect::<Vec<_>>());
    assert_eq!(operations[1], "loop over 16 elements: add, tanh");
    // x and w into the product, the product into the loop, the loop and w into the second product, and so on to the output.
    let reads = |to: &str| {
        let to = graph.nodes().iter().position(|node| node.id == to).unwrap();
        let edges = graph.edges().iter().filter(|edge| edge.to == to);
        edges.map(|edge| graph.nodes()[edge.from].id.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(reads("kernel 0"), ["a", "b"]);
    assert!(reads("kernel 1").contains(&"kernel 0"));
    assert_eq!(reads("kernel 2"), ["b", "kernel 1"]);
    assert_eq!(reads("kernel 3"), ["kernel 2"]);
    assert_eq!(reads("output 0"), ["kernel 3"]);
    assert_eq!(graph.groups()[0].kind, GroupKind::Kernel);
    let group = graph.groups().iter().position(|group| group.label == "kernel 1: loop over 16 elements").unwrap();
    let members: Vec<&str> =
        graph.nodes().iter().filter(|node| node.group == Some(group)).map(|node| node.operation.as_str()).collect();
    assert_eq!(members, ["loop over 16 elements: add, tanh", "add", "tanh"]);
    let timed = plan(&f.profile(&(Tensor::zeros([4, 4]), Tensor::zeros([4, 4])), 2));
    assert!(timed.nodes().iter().filter(|node| node.kind == NodeKind::Kernel).all(|node| node.milliseconds.is_some()));
}

/// A picture equals its file.
pub fn drawn(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/graphs/{name}"));
    if std::env::var_os("WENGERT_BLESS").is_some() {
        fs::write(&path, picture).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(picture, expected, "{name}: WENGERT_BLESS=1 cargo test -p wengert-view graphs accepts the new picture");
}

fn samples() -> [(&'static str, Graph); 5] {
    let (program, plan) = network_program();
    [
        ("classic", classic()),
        ("network_tape", network_tape()),
        ("network_program", program),
        ("network_plan", plan),
        ("control_flow", control_flow()),
    ]
}

#[test]
fn small_graphs_look_like_their_files() {
    for (name, graph) in samples() {
        drawn(&format!("{name}.svg"), &graph.svg());
        drawn(&format!("{name}.dot"), &graph.dot());
        drawn(&format!("{name}.txt"), &graph.terminal(110));
        drawn(&format!("{name}.json"), &graph.json());
    }
}

#[test]
fn pictures_are_the_same_on_every_run() {
    for ((_, first), (name, second)) in samples().into_iter().zip(samples()) {
        assert_eq!(first, second, "{name}");
        assert_eq!(first.svg(), second.svg(), "{name}");
    }
}

/// The boxes of an SVG, without samples of the legend: x, y, right and bottom of those with round corners of some radius.
fn boxes(all: &[Element], radius: &str) -> Vec<[f64; 4]> {
    let number = |element: &Element, name: &str| element.attribute(name).unwrap().parse::<f64>().unwrap();
    let rounded = all.iter().filter(|element| element.name == "rect" && element.attribute("rx") == Some(radius));
    rounded
        .map(|element| {
            let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(element, name));
            [x, y, x + width, y + height]
        })
        .collect()
}

#[test]
fn boxes_and_frames_do_not_overlap() {
    let overlap = |a: &[f64; 4], b: &[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    let contains = |a: &[f64; 4], b: &[f64; 4]| a[0] <= b[0] && a[1] <= b[1] && a[2] >= b[2] && a[3] >= b[3];
    for (name, graph) in samples() {
        let svg = graph.svg();
        let all = elements(&svg).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let (nodes, frames) = (boxes(&all, "8"), boxes(&all, "12"));
        let heads = graph.groups().iter().filter(|group| group.head.is_some()).count();
        assert_eq!((nodes.len(), frames.len()), (graph.nodes().len() - heads, graph.groups().len()), "{name}");
        for one in [&nodes, &frames] {
            for (place, a) in one.iter().enumerate() {
                assert!(!one[..place].iter().any(|b| overlap(a, b)), "{name}: {a:?}");
            }
        }
        for frame in &frames {
            assert!(nodes.iter().all(|node| !overlap(frame, node) || contains(frame, node)), "{name}: {frame:?}");
        }
    }
}

#[test]
fn every_edge_has_its_line() {
    for (name, graph) in samples().into_iter().filter(|(_, graph)| graph.groups().is_empty()) {
        let svg = graph.svg();
        let all = elements(&svg).unwrap();
        let lines = |kind: &str| {
            let end = format!("url(#wengert-{kind})");
            all.iter().filter(|one| one.name == "path" && one.attribute("marker-end") == Some(&end)).count()
        };
        let edges = |kind: EdgeKind| graph.edges().iter().filter(|edge: &&Edge| edge.kind == kind).count();
        assert_eq!(lines("forward"), edges(EdgeKind::Forward), "{name}");
        assert_eq!(lines("adjoint"), edges(EdgeKind::Adjoint), "{name}");
    }
}

#[test]
fn text_fits_its_width() {
    for (name, graph) in samples() {
        for width in [0, 24, 60, 110, 1000] {
            let picture = graph.terminal(width);
            let most = width.clamp(24, 500);
            assert!(picture.lines().all(|line| line.chars().count() <= most), "{name}, {width}:\n{picture}");
        }
        let coloured = graph.clone().coloured(true).terminal(110);
        let codes = ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[34m", "\x1b[35m", "\x1b[0m"];
        let stripped: String = codes.iter().fold(coloured, |text, code| text.replace(code, ""));
        let stripped: String = stripped.lines().map(|line| line.trim_end().to_string() + "\n").collect();
        assert_eq!(stripped, graph.terminal(110), "{name}");
    }
}

#[test]
fn hostile_text_is_inert() {
    let hostile = "</script><b a=\"x\">&amp; 'q' \\n \\\" ]]>";
    let text = format!("program(a: f64[]) {{\n  b: f64[] = exp(a)  // {hostile}:3:4\n  return b\n}}");
    let parsed = Program::parse(&text).unwrap();
    let line = parsed.equations()[0].line.unwrap();
    assert!(line.file().contains("</script>"), "{line}");
    let graph = program(&parsed).titled(format!("{hostile}\n\u{1b}[31m\u{0}"));
    for graph in [graph.clone(), graph.collapsed(wengert_view::Collapse::Line)] {
        let svg = graph.svg();
        let all = elements(&svg).unwrap();
        assert!(all.iter().all(|element| !["script", "b"].contains(&element.name.as_str())));
        assert!(svg.contains("&lt;/script&gt;") && !svg.contains("</script>"));
        let (dot, json) = (graph.dot(), graph.json());
        for text in [&dot, &json] {
            assert!(!text.contains("</script>") && !text.contains("<b"), "{text}");
        }
        // Outside of quotes there is only what the graph itself consists of, so every quote is closed.
        assert!(dot.lines().all(|line| line.matches('"').count() % 2 == 0), "{dot}");
        assert!(dot.contains("\\\\n") && !dot.contains("\\\""), "{dot}");
        let picture = graph.terminal(200);
        assert!(!picture.contains('\x1b') && !picture.contains('\0'), "{picture}");
    }
}
