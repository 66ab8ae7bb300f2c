//! The command from a user's point of view.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the command prints, and its exit code.
pub fn wengert(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_wengert")).args(arguments).output();
    output.expect("the command starts")
}

/// The output of a command that succeeds.
pub fn succeeds(arguments: &[&str]) -> String {
    let output = wengert(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    // There is no progress bar if standard error is not a terminal.
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).expect("the output is text")
}

/// The message of a command that fails with this exit code; a wrong request prints nothing else.
pub fn fails(arguments: &[&str], code: i32) -> String {
    let output = wengert(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert!(code != 2 || output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("the message is text")
}

/// A temporary directory for one test, removed afterwards.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the scratch directory can be made");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn tape_lists_every_value_adjoint_and_contribution() {
    let text = succeeds(&["tape"]);
    let forward = ["v3  mul v1 v2  6 ", "v1 = 2, v2 = 3", "v4  sin v1     0.9092974268256817  v1 = 2"];
    let backward = ["v3 += 1,  v4 += 1", "v1 += -0.4161468365471424", "v1 += 3,  v2 += 2", "v1  2.5838531634528574"];
    let results = ["y      = 6.909297426825682\n", "dy/dx1 = 2.5838531634528574\n", "dy/dx2 = 2\n"];
    for part in forward.iter().chain(&backward).chain(&results) {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn tour_shows_list_transforms_and_training() {
    let text = succeeds(&["tour", "--quick"]);
    for part in
        ["dy/dx1 = 2.5838531634528574", "program(a: f64[], b: f64[])", "vmap(grad(f))", "test accuracy", "read as"]
    {
        assert!(text.contains(part), "'{part}' is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn train_is_repeatable_and_its_seed_matters() {
    let losses = |seed: &str| {
        let text = succeeds(&["train", "digits", "--epochs", "2", "--seed", seed]);
        let epochs = text.lines().filter(|line| line.trim_start().starts_with("epoch"));
        epochs.map(|line| line.split("  ").take(5).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let three = losses("3");
    assert_eq!(three.len(), 2);
    assert_eq!(three, losses("3"));
    assert_ne!(three, losses("4"));
}

#[test]
fn train_rejects_numbers_that_make_no_sense() {
    assert!(fails(&["train", "--epochs", "0"], 2).contains("0 is not in 1.."));
    assert!(fails(&["train", "--seed", "-1"], 2).contains("-1"));
    assert!(fails(&["trian"], 2).contains("train"));
}

#[test]
fn ops_lists_every_primitive_and_has_a_page_for_each() {
    let list = succeeds(&["ops"]);
    for primitive in wengert::primitive::PRIMITIVES.iter() {
        let name = primitive.name();
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not in\n{list}"));
        assert!(line.trim() != name, "{name} is listed without a word");
        let page = wengert_cli::ops_page::page(name).expect("every primitive has a page");
        assert!(page.starts_with(&format!("{name} - ")), "{page}");
        assert!(page.contains(primitive.rule_text()), "{page}");
    }
}

#[test]
fn a_page_labels_formula_derivative_domain_saves_and_coverage() {
    let text = succeeds(&["ops", "log"]);
    for label in ["formula", "derivative", "domain", "reverse rule", "saved values", "checked cases"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(label)), "'{label}' is not in\n{text}");
    }
    assert!(succeeds(&["ops", "mean"]).contains("Tensor::mean"));
    assert!(succeeds(&["ops", "movement"]).contains("transpose"));
}

#[test]
fn an_unknown_operation_is_a_usage_error_that_names_the_nearest() {
    let message = fails(&["ops", "matmull"], 2);
    assert!(message.contains("no operation is called 'matmull'"), "{message}");
    assert!(message.contains("nearest: matmul"), "{message}");
    assert!(fails(&["ops", "nosuch"], 2).contains("nearest: "));
}

#[test]
fn run_tells_about_a_saved_program_and_runs_it() {
    use wengert::prelude::*;
    let scratch = Scratch::new("run");
    let file = scratch.0.join("program.txt");
    let f = compile(|(x, y): &(Tensor, Tensor)| x * y + 1.0);
    f.save(&(Tensor::ones([2]), Tensor::from(1.0)), &file).expect("it can be saved");
    let path = file.to_str().expect("the path is text");
    let told = succeeds(&["run", path]);
    assert!(told.starts_with("input  '0': f64[2]\ninput  '1': f64[]\noutput '': f64[2]\nprogram("), "{told}");
    let ran = succeeds(&["run", path, "--input", "2,-3", "--input", "-1.5"]);
    assert_eq!(ran, format!("'': f64[2] =\n{}\n", Tensor::from([-2.0, 5.5])));
    assert!(fails(&["run", path, "--input", "1"], 2).contains("takes 2 inputs, 1 are given"));
    assert!(fails(&["run", path, "--input", "1,2,3", "--input", "1"], 2).contains("'0': f64[2]: 3 numbers for 2"));
    assert!(fails(&["run", path, "--input", "one,2", "--input", "1"], 2).contains("'one' is no f64"));
    assert!(fails(&["run", path, "--input", "1e400,2", "--input", "1"], 2).contains("'1e400' is too large for f64"));
    let text = std::fs::read_to_string(&file).expect("it can be read");
    std::fs::write(&file, text.replace("mul", "add")).expect("it can be written");
    assert!(fails(&["run", path], 1).contains("the checksum is"));
    assert!(fails(&["run", "no/such/file"], 1).contains("no/such/file"));
}

#[test]
fn doctor_examines_a_saved_program() {
    use wengert::prelude::*;
    let scratch = Scratch::new("doctor");
    let save = |name: &str, f: fn(&(Tensor, Tensor)) -> Tensor| {
        let file = scratch.0.join(name);
        compile(f).save(&(Tensor::ones([2]), Tensor::from(1.0)), &file).expect("it can be saved");
        file.to_str().expect("the path is text").to_string()
    };
    let healthy = save("healthy", |(x, y)| (x * y).square().sum());
    let inputs = ["--input", "2,3", "--input", "0.5"];
    let with = |file: &str| [&["doctor", file], &inputs[..]].concat().into_iter().map(String::from).collect::<Vec<_>>();
    let told = succeeds(&with(&healthy).iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(told, "loss 3.25, 2 parameters: nothing wrong\n");

    let line = line!() + 1;
    let sick = save("sick", |(x, y)| (x - 2.0).sqrt().sum() * y);
    let arguments = with(&sick);
    let output = wengert(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1));
    let place = format!("command.rs:{line}:");
    assert!(text.contains("gradient not finite: the rule of sqrt gives inf at [0], where the operand is 0"), "{text}");
    assert!(text.contains(&place) && text.contains("parameters: 0"), "{place} is not in {text}");
    assert!(fails(&["doctor", &sick, "--input", "1"], 2).contains("takes 2 inputs, 1 are given"));
}

#[test]
fn grad_draws_the_list() {
    let scratch = Scratch::new("grad_svg");
    let file = scratch.0.join("list.svg");
    let path = file.to_str().expect("the path is text");
    succeeds(&["grad", "x1*x2 + sin(x1)", "--at", "x1=2", "--at", "x2=3", "--svg", path]);
    let svg = std::fs::read_to_string(&file).expect("it was written");
    assert!(svg.starts_with("<svg") && svg.contains("x1*x2 + sin(x1)") && svg.contains("6.909"), "{svg}");
    let message = fails(&["grad", "x", "--at", "x=1", "--svg", "no/such/folder/list.svg"], 1);
    assert!(message.contains("no/such/folder/list.svg"), "{message}");
}

#[test]
fn pages_are_written_for_expressions_and_saved_programs() {
    use wengert::prelude::*;
    let scratch = Scratch::new("html");
    let path = |name: &str| scratch.0.join(name).to_str().expect("the path is text").to_string();
    let read = |name: &str| std::fs::read_to_string(scratch.0.join(name)).expect("it was written");
    succeeds(&["grad", "x1*x2 + sin(x1)", "--at", "x1=2", "--at", "x2=3", "--html", &path("list.html")]);
    let page = read("list.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<title>x1*x2 + sin(x1)</title>"));
    for part in ["v1 = x1", "Run of 7 equations", "Plan of", "after simplify"] {
        assert!(page.contains(part), "'{part}' is not in the page");
    }
    let message = fails(&["grad", "x", "--at", "x=1", "--html", "no/such/folder/list.html"], 1);
    assert!(message.contains("no/such/folder/list.html"), "{message}");

    let program = compile(|x: &Tensor| x.exp().sum());
    program.save(&Tensor::from([1.0, 2.0]), path("sum")).expect("it is saved");
    succeeds(&["run", &path("sum"), "--html", &path("sum.html")]);
    assert!(read("sum.html").contains("Program of 2 equations"));
    succeeds(&["run", &path("sum"), "--input", "0,1", "--html", &path("run.html")]);
    assert!(read("run.html").contains("Run of 2 equations"));
    let message = fails(&["run", &path("sum"), "--html", "no/such/folder/page.html"], 1);
    assert!(message.contains("no/such/folder/page.html"), "{message}");
}
