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
