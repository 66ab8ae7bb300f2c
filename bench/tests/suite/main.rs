//! The program from outside.

use std::process::Command;

fn bench(arguments: &[&str]) -> (bool, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_wengert-bench")).args(arguments).output().expect("the program starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("the program prints text"))
}

#[test]
fn every_grain_is_one_line_of_json() {
    let (succeeds, text) = bench(&["granularity", "--json"]);
    assert!(succeeds, "{text}");
    let grains = ["statements", "wide statements", "replay", "elementwise tensors", "kernels", "program"];
    assert_eq!(text.lines().count(), grains.len(), "{text}");
    for (line, grain) in text.lines().zip(grains) {
        let start = format!(r#"{{"bench":"granularity","grain":"{grain}","nodes":"#);
        assert!(line.starts_with(&start) && line.ends_with('}'), "{line}");
    }
}

#[test]
fn a_workload_that_there_is_not_is_refused_with_those_that_there_are() {
    let (succeeds, text) = bench(&["step", "perceptron"]);
    assert!(!succeeds && text.contains("perceptron") && text.contains("tiny_mlp"), "{text}");
}

#[test]
fn plots_of_the_guide_are_drawn_from_what_is_printed() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("plots_of_the_guide");
    let (succeeds, text) = bench(&["plots", folder.to_str().expect("the path is text"), "--most", "100", "--json"]);
    assert!(succeeds, "{text}");
    let (modes, costs): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains("forward_ms"));
    assert_eq!((modes.len(), costs.len()), (2, 4), "{text}");
    for (picture, lines) in [("forward_and_reverse", 2), ("cheap_gradient", 5)] {
        let svg = std::fs::read_to_string(folder.join(picture).with_extension("svg")).expect("it was drawn");
        // A line of one point is a disc.
        assert_eq!(svg.matches("<polyline").count() + svg.matches("<circle").count(), lines, "{picture}");
    }
    std::fs::remove_dir_all(folder).expect("it can be removed");
}

#[test]
fn a_step_is_profiled_in_both_modes_as_a_table_as_json_and_as_a_timeline() {
    let trace = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace.json");
    let path = trace.to_str().expect("the path is text");
    for mode in ["eager", "compiled"] {
        let arguments = ["profile", "tiny_mlp", "--mode", mode, "--seconds", "0", "--trace", path];
        let (succeeds, text) = bench(&arguments);
        assert!(succeeds && text.contains("of ceiling") && text.contains("linear"), "{text}");
        assert!(text.contains("a step that is not measured"), "{text}");
        let timeline = std::fs::read_to_string(&trace).expect("it was written");
        assert!(timeline.starts_with(r#"{"traceEvents":[{"#) && timeline.contains("linear"), "{timeline}");
        std::fs::remove_file(&trace).expect("it is ours");

        let (succeeds, text) = bench(&["profile", "tiny_mlp", "--mode", mode, "--seconds", "0", "--json"]);
        let start = format!(r#"{{"bench":"profile","workload":"tiny_mlp","system":"wengert-{mode}","step_ms":"#);
        assert!(succeeds && text.starts_with(&start) && text.lines().count() == 1, "{text}");
    }
    let (succeeds, text) = bench(&["profile", "tiny_mlp", "--seconds", "0", "--trace", "no/such/folder/trace.json"]);
    assert!(!succeeds && text.starts_with("no/such/folder/trace.json: "), "{text}");
}

#[test]
fn the_names_of_benchmarks_of_memory_are_checked() {
    let (succeeds, text) = bench(&["memory", "disk"]);
    assert!(!succeeds && text.contains("'disk'") && text.contains("binomial, loops, chain64"), "{text}");
}
