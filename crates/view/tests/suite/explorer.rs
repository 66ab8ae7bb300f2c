//! Pages of the explorer. `.ci/browser` opens such pages in a browser.

use crate::graphs::drawn;
use crate::samples::{classic, control_flow, network_tape};
use wengert::WorkspacePiece;
use wengert::prelude::*;
use wengert_view::{Explorer, Graph, MOST_NODES, NodeKind, graph, program, run, stages};

/// The data of a page.
fn data(page: &str) -> &str {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").expect("it has data");
    rest.split_once("</script>").expect("the data end").0
}

fn page(graph: Graph) -> String {
    Explorer::new(graph).html()
}

#[test]
fn the_data_of_a_small_page_is_that_of_its_file() {
    drawn("classic_page.json", data(&page(classic())));
}

#[test]
fn a_page_asks_for_nothing() {
    let page = page(network_tape());
    assert!(page.contains("default-src 'none'"), "its policy forbids every request");
    for word in
        ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "innerHTML", "eval("]
    {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</script><script>alert(1)</script><!-- {{data}} {{script}} &amp; \u{2028}";
    let text = format!("program(a: f64[]) {{\n  b: f64[] = exp(a)  // {hostile}:3:4\n  return b\n}}");
    let parsed = Program::parse(&text).unwrap();
    let explorer = Explorer::new(program(&parsed).titled(hostile)).passes(&parsed).titled(hostile);
    let (page, harmless) = (explorer.html(), Explorer::new(program(&parsed).titled("")).titled("").html());
    for tag in ["<script", "</script", "<!--", "\"use strict\""] {
        assert_eq!(page.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
    }
    assert!(page.contains("<title>&lt;/script&gt;&lt;script&gt;"));
    assert!(!data(&page).contains(['<', '>', '&', '\u{2028}']));
}

#[test]
fn elements_of_large_values_are_not_embedded() {
    let marked = |count: usize| {
        let mut numbers = vec![0.0; count];
        (numbers[0], numbers[1], numbers[2]) = (-1.0, 1.0, 0.123_456_789);
        Tensor::from(numbers)
    };
    let tape = |count: usize| {
        let x = marked(count).require_grad();
        page(graph(&Tape::of(&record_values(|| {
            let y = (&x * marked(count)).sum();
            y.backward_with(Backward::new().retain_graph());
            y
        }))))
    };
    assert!(tape(6).contains("0.123456789"), "six elements are listed");
    assert!(!tape(7).contains("0.123456789"), "seven are summarised");
    assert!(tape(7).contains("[1,0,0,0,0,0,5,0,0,0,0,1]"), "by their histogram");

    let of_program = |count: usize| {
        let constant = marked(count);
        let f = compile(move |x: &Tensor| x * &constant);
        let x = Tensor::zeros([count]);
        let run_of_f = f.debug().run(&x);
        Explorer::new(run(&run_of_f)).plan(&f.plan(&x)).passes(run_of_f.program()).html()
    };
    assert!(of_program(6).contains("0.123456789"));
    let page = of_program(7);
    assert!(!page.contains("0.123456789") && page.contains("const b: f64[7] = 7 elements"));
}

#[test]
fn a_value_is_kept_once_until_its_first_record_is_swept() {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    // v2 = exp(v1) keeps its result, v3 = v2 v1 keeps v1 too, v4 = sin(v3) keeps v3: node, first byte, bytes, first step, end.
    let page = page(graph(&Tape::of(&(x.exp() * &x).sin())));
    assert!(data(&page).contains("\"pieces\":[[1,0,16,1,7],[0,16,16,2,6],[2,32,16,3,5]]"), "{}", data(&page));
}

#[test]
fn a_tape_without_values_says_how_to_record_them() {
    let x = Tensor::from([1.0, 2.0]).require_grad();
    let bare = page(graph(&Tape::of(&(&x * &x).sum())));
    assert!(data(&bare).contains("record_values(|| ..)") && data(&bare).contains("Values kept for the reverse pass"));
    assert!(!data(&page(classic())).contains("record_values"));
}

#[test]
fn records_with_several_results_need_no_value() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).require_grad();
    let graph = graph(&Tape::of(&record_values(|| {
        let y = x.max_along(0).0.sum();
        y.backward_with(Backward::new().retain_graph());
        y
    })));
    assert!(graph.nodes().iter().any(|node| node.kind == NodeKind::Output), "{:?}", graph.nodes());
    assert!(graph.notes().is_empty(), "{:?}", graph.notes());
}

#[test]
fn a_tape_of_ten_thousand_records_is_a_page_of_a_few_megabytes() {
    let (x, w) = (Tensor::from(0.5).require_grad(), Tensor::from(1.5).require_grad());
    let y = record_values(|| {
        let y = (0..(MOST_NODES - 2) / 2).fold(x.clone(), |y, _| (y * &w).sin());
        y.backward_with(Backward::new().retain_graph());
        y
    });
    let page = page(graph(&Tape::of(&y)));
    assert!(page.contains("\"name\":\"Nodes\"") && page.len() < 5_000_000, "{} bytes", page.len());
}

#[test]
fn larger_tapes_are_collapsed_and_say_so() {
    let x = Tensor::from(0.5).require_grad();
    let page = page(graph(&Tape::of(&(0..MOST_NODES).fold(x, |x, _| x.sin()))));
    assert!(data(&page).contains("Collapsed by source line: 2 nodes for 10001.") && page.len() < 200_000);
}

#[test]
fn loops_and_lines_can_be_collapsed() {
    let names = |page: &str| {
        let levels = ["Nodes", "Groups", "Lines", "Files"];
        levels.into_iter().filter(|name| page.contains(&format!("{{\"name\":\"{name}\""))).collect::<Vec<_>>()
    };
    assert_eq!(names(&page(control_flow())), ["Nodes", "Groups", "Lines", "Files"]);
    assert_eq!(names(&page(classic())), ["Nodes", "Lines"], "both leaves on one line, all operations on another");
    assert_eq!(names(&page(graph(&Tape::of(&Tensor::from(1.0).require_grad())))), ["Nodes"]);
}

#[test]
fn a_run_that_fails_shows_its_values_up_to_the_error() {
    let f = compile(|(x, i): &(Tensor, Tensor)| x.exp().gather(0, i).sum());
    let inputs = (Tensor::from([0.0, 1.0]), Tensor::from([5i64]));
    let graph = run(&f.debug().run(&inputs));
    assert!(graph.notes().iter().any(|note| note.starts_with("The run ended with an error: ")), "{:?}", graph.notes());
    let known = |operation: &str| {
        graph.nodes().iter().any(|node| node.operation.starts_with(operation) && node.value.is_some())
    };
    assert!(known("exp") && !known("sum"));
}

#[test]
fn pieces_of_a_workspace_never_overlap() {
    let f = compile(value_and_grad(|(x, w): &(Tensor, Tensor)| {
        let y = (0..4).fold(x.clone(), |y, _| y.matmul(w).tanh() + y.cumsum(0));
        y.softmax(-1).square().sum()
    }));
    let plan = f.plan(&(Tensor::zeros([32, 32]), Tensor::zeros([32, 32])));
    let pieces = plan.pieces();
    assert!(pieces.len() > 4, "{pieces:?}");
    let apart = |a: &WorkspacePiece, b: &WorkspacePiece| {
        a.last < b.first || b.last < a.first || a.start + a.bytes <= b.start || b.start + b.bytes <= a.start
    };
    for (place, a) in pieces.iter().enumerate() {
        assert!(a.first <= a.last && a.last < plan.kernels() && a.start + a.bytes <= plan.workspace_bytes(), "{a:?}");
        assert!(pieces[..place].iter().all(|b| apart(a, b)), "{a:?}");
    }
}

#[test]
fn stages_are_the_passes_that_change_something() {
    let traced = compile(value_and_grad(|x: &Tensor| (x.sin() * 1.0).exp())).program(&Tensor::from(2.0));
    let stages = stages(&traced);
    assert_eq!((stages[0].name.as_str(), &stages[0].text), ("traced", &traced.to_string()));
    assert!(stages.len() > 1 && stages.windows(2).all(|pair| pair[0].text != pair[1].text));
    assert_eq!(stages.last().unwrap().text, traced.optimised().to_string());
}
