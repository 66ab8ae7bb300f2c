//! JSON, colours, closed pipes and files that cannot be written.

use crate::command::{Scratch, fails, succeeds, wengert};
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};
use wengert::prelude::*;

/// The lines of a command with `--json`, which all are objects.
fn objects(arguments: &[&str]) -> Vec<Value> {
    let text = succeeds(&[arguments, &["--json"]].concat());
    let object = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{line}"));
        assert!(value.is_object(), "{line}");
        value
    };
    text.lines().map(object).collect()
}

#[test]
fn every_command_that_prints_data_prints_it_as_json() {
    let tape = objects(&["tape"]);
    assert_eq!(tape, objects(&["grad", "x1*x2 + sin(x1)", "--at", "x1=2", "--at", "x2=3"]));
    assert_eq!((tape.len(), tape[0]["gradient"]["x2"].as_f64()), (1, Some(2.0)));

    let tour = objects(&["tour", "--quick"]);
    assert_eq!(tour[0], tape[0]);
    assert_eq!(tour[1]["gradient"], serde_json::json!([3.0 + 2f64.cos(), 2.0]));
    assert_eq!(tour[1]["gradients"][1], serde_json::json!([0.0, 1.0, 2.0]));
    assert_eq!((tour[2]["epoch"].as_u64(), tour[2]["steps"].as_u64()), (Some(1), Some(45)));
    assert!(tour.last().unwrap()["test_accuracy"].as_f64().is_some_and(|accuracy| accuracy > 0.5));

    let epochs = objects(&["train", "digits", "--epochs", "2"]);
    assert_eq!(epochs.len(), 3);
    assert!(epochs[0]["loss"].is_f64() && epochs[0]["seconds"].is_f64(), "{epochs:?}");
}

#[test]
fn operations_are_listed_and_described_as_json() {
    let list = objects(&["ops"]);
    let named = |name: &str| list.iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    for primitive in wengert::primitive::PRIMITIVES.iter() {
        assert_eq!(named(primitive.name())["primitive"], true, "{}", primitive.name());
    }
    assert_eq!(named("tanh")["family"], "elementwise");
    assert_eq!(named("tanh")["summary"], "y = tanh x,   dy = (1 - y^2) dx");
    assert_eq!((&named("linspace")["family"], &named("linspace")["primitive"]), (&"creation".into(), &false.into()));
    assert!(list.iter().all(|entry| entry["summary"].as_str().is_some_and(|text| !text.is_empty())));

    let page = objects(&["ops", "permute"]).remove(0);
    assert_eq!((&page["name"], &page["names"][0]), (&"permute".into(), &"transpose".into()));
    assert_eq!(page["page"].as_str(), Some(succeeds(&["ops", "transpose"]).as_str()));
}

#[test]
fn a_saved_program_is_described_and_run_as_json() {
    let scratch = Scratch::new("run_json");
    let file = scratch.0.join("program.txt");
    let f = compile(|(x, k): &(Tensor, Tensor)| (x / 3.0, k + 1i64, x.gt(0.0)));
    f.save(&(Tensor::ones([2]), Tensor::from([1i64])), &file).expect("it can be saved");
    let path = file.to_str().expect("the path is text");
    let told = objects(&["run", path]);
    assert_eq!(told.len(), 6);
    assert_eq!(told[0], serde_json::json!({"input": "0", "shape": [2], "dtype": "f64"}));
    assert!(told[5]["program"].as_str().is_some_and(|text| text.starts_with("program(")), "{told:?}");
    let ran = objects(&["run", path, "--input", "1,-inf", "--input", "9007199254740993"]);
    assert_eq!(ran[0]["elements"], serde_json::json!([1.0 / 3.0, "-Infinity"]));
    assert_eq!(
        ran[1],
        serde_json::json!({"output": "1", "shape": [1], "dtype": "i64", "elements": [9007199254740994i64]})
    );
    assert_eq!(ran[2]["elements"], serde_json::json!([1, 0]));
    for (text, told) in [("1.5", "'1.5' is no i64"), ("1e3", "'1e3' is no i64"), ("9223372036854775808", "is no i64")] {
        assert!(fails(&["run", path, "--input", "1", "--input", text], 2).contains(told));
    }
    compile(|k: &Tensor| k + 1i32).save(&Tensor::from([1i32]), &file).expect("it can be saved");
    assert!(fails(&["run", path, "--input", "2147483648"], 2).contains("'2147483648' has a number that is no i32"));
}

#[test]
fn captured_output_and_messages_have_no_colours() {
    for arguments in [
        &["tape"][..],
        &["ops"],
        &["ops", "tanh"],
        &["grad", "log(x)", "--at", "x=-1", "--hessian", "--check"],
        &["grad", "x + sni(x)", "--at", "x=1"],
        &["grad", "--help"],
        &["gard"],
        &["tour", "--quick"],
    ] {
        let output = wengert(arguments);
        let text = [output.stdout, output.stderr].concat();
        assert!(!text.contains(&b'\x1b'), "{arguments:?}: {}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn forced_colours_change_nothing_but_the_colours() {
    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
        let output = command.args(arguments).envs(variables.iter().copied()).output().expect("the command starts");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    let forced = ("CLICOLOR_FORCE", "1");
    for (arguments, coloured) in [
        (&["tape"][..], "\x1b[36m2.5838531634528574\x1b[0m"),
        (&["ops", "tanh"], "\x1b[1mtanh - hyperbolic tangent   (elementwise)\x1b[0m\n"),
        (&["ops"], "\n\x1b[1melementwise\x1b[0m\n  sqrt"),
        (&["grad", "x + sni(x)", "--at", "x=1"], "\n      \x1b[1;31m^^^\x1b[0m\n"),
    ] {
        let (text, plain) = (run(&[forced], arguments), run(&[], arguments));
        assert!(text.contains(coloured), "{text}");
        assert_eq!(run(&[forced, ("NO_COLOR", "1")], arguments), plain);
        let codes = text.split('\x1b').map(|part| part.split_once('m').filter(|_| part.starts_with('[')));
        let stripped = codes.enumerate().map(|(place, part)| match (place, part) {
            (0, _) => text.split('\x1b').next().unwrap_or_default(),
            (_, part) => part.expect("a code of a colour").1,
        });
        assert_eq!(stripped.collect::<String>(), plain);
    }
}

#[test]
fn a_closed_pipe_is_silent() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
    let mut child =
        command.arg("ops").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut pipe = child.stdout.take().expect("it is piped");
    pipe.read_exact(&mut [0; 10]).expect("there is output");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
    let output = command.args(["ops", "tanh"]).stdout(full()).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("writing failed: No space left"), "{output:?}");
    // Nobody reads messages either.
    let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
    let status = command.args(["ops", "nosuch"]).stderr(full()).status().expect("the command starts");
    assert_eq!(status.code(), Some(2));
    assert!(fails(&["grad", "x", "--at", "x=1", "--svg", "/dev/full"], 1).contains("/dev/full: No space left"));
}
