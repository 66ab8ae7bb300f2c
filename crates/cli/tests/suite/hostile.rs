//! `wengert grad` and other commands with input that nobody should type: every message says what is wrong, in a moment.

use crate::command::{fails, succeeds};
use crate::grad::{number, plain};

/// The message about an expression whose variables are 1.
fn told(expression: &str) -> String {
    fails(&["grad", expression, "--at", "x=1"], 2)
}

#[test]
fn signs_of_mathematics_have_a_spelling() {
    for (expression, help) in [
        ("x − 1", "written with -"),
        ("x × x", "written with *"),
        ("x·x", "written with *"),
        ("x ÷ 2", "written with /"),
        ("x²", "a power is written with ^: x ^ 2"),
        ("√x", "sqrt(x)"),
        ("x % 2", "remainder(x, y)"),
        ("x!", "lgamma"),
        ("|x|", "abs(x)"),
        ("x > 0", "relu"),
        ("sum(i=1..3, x^i)", "sum(i in 1..=3, x^i)"),
    ] {
        let message = told(expression);
        assert!(message.contains(help) && message.contains('^'), "{message}");
    }
    assert_eq!(number(&plain("sin(π/2) + cos(π)", &[])["value"]), 0.0);
    assert_eq!(number(&plain("3*x₁ + ü", &["x₁=2", "ü=1"])["value"]), 7.0);
}

#[test]
fn nothing_is_no_expression() {
    for expression in ["", " ", "\n\t"] {
        assert!(told(expression).contains("there is nothing to read\n  an expression is x1*x2"), "{expression:?}");
    }
    assert!(fails(&["grad", "x", "--at", "x="], 2).contains("--at x: there is nothing to read"));
    assert!(fails(&["grad", "(x, x)", "--at", "x=1", "--seed", ""], 2).contains("--seed: there is nothing to read"));
}

#[test]
fn points_that_make_no_sense_are_explained() {
    assert!(fails(&["grad", "x", "--at", "=1"], 2).contains("--at =1: a value is given as NAME=VALUE"));
    let message = fails(&["grad", "x*y", "--at", "x=1,y=2"], 2);
    assert!(message.contains("more than one =") && message.contains("--at x=1 --at y=2"), "{message}");
    assert!(fails(&["grad", "let x = 2; x^2", "--at", "x=1"], 2).contains("the expression defines it"));
    assert!(fails(&["grad", "sum(x in 1..3, x)", "--at", "x=1"], 2).contains("the expression defines it"));
    assert!(fails(&["grad", "x", "--at", "x=1,"], 2).contains("a vector of 1 number,"));
    assert!(fails(&["grad", "2", "--order", "2"], 2).contains("no variable to differentiate by"));
    assert!(fails(&["grad", "x", "--at", "x=1", "--order", "-1"], 2).contains("-1 is not in 0..=100"));
    assert!(!succeeds(&["grad", "2", "--jacobian"]).contains("Jacobian"), "a matrix without columns");
}

#[test]
fn products_without_a_sign_are_shown_with_one() {
    assert!(told("2(x)").contains("2 * (..)\n"));
    assert!(told("(x)(x)").contains("(..) * (..)\n"));
    let message = told("x(2)");
    let near = message.split("nearest: ").nth(1).expect("a suggestion").trim();
    let names: std::collections::HashSet<&str> = near.split(", ").collect();
    assert_eq!(names.len(), 3, "{near}");
}

#[test]
fn messages_send_no_control_characters_to_a_terminal() {
    for expression in ["x\x1b[31m + 1", "\u{202e}x", "x \u{7}"] {
        let message = told(expression);
        assert!(message.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{message:?}");
        assert!(message.contains("has no meaning here") && message.contains('^'), "{message}");
    }
}

#[test]
fn long_texts_are_cut_in_messages() {
    let name = "a".repeat(100_000);
    let digits = "1".repeat(100_000);
    let numbers = vec!["1"; 20_000].join(",");
    for (arguments, says) in [
        (vec!["grad", &name, "--at", "x=1"], "a name or number of 100000 characters is too long"),
        (vec!["grad", &digits], "too large"),
        (vec!["grad", "x[1e300]", "--at", "x=1,2"], "not 1e300"),
        (vec!["grad", "x", "--at", "x=1", "--seed", &numbers], "20000 numbers for a value of 1"),
        (vec!["grad", "x", "--at", &format!("x={numbers}")], "a vector of 20000 numbers"),
        (vec!["grad", "x", "--at", &name], "NAME=VALUE"),
        (vec!["ops", &name], "no operation is called 'aaaa"),
    ] {
        let message = fails(&arguments, 2);
        assert!(message.contains(says) && message.len() < 500, "{} characters\n{message}", message.len());
    }
}

#[test]
fn ranges_that_take_too_long_are_refused_before_they_run() {
    let start = std::time::Instant::now();
    for range in ["0..199999", "0..=1e15", "-9e15..9e15"] {
        let message = told(&format!("sum(i in {range}, x*i + 1)"));
        assert!(message.contains("too long") || message.contains("takes more than"), "{message}");
    }
    assert!(start.elapsed().as_secs_f64() < 2.0);
}

#[test]
fn tangents_of_very_many_inputs_are_refused_before_they_run() {
    let point = format!("x={}", vec!["1"; 5_000].join(","));
    let sum = (0..500).map(|i| format!("x[{i}]*x[{}]", i + 1)).collect::<Vec<_>>().join("+");
    let message = fails(&["grad", &sum, "--at", &point, "--forward"], 2);
    assert!(message.contains("--forward") && message.contains("5000 derivatives"), "{message}");
}

#[test]
fn a_variable_may_be_called_name_and_a_value_may_be_a_range() {
    let point = ["name=2", "x=sum(i in 1..=3, i)"];
    let all = plain("name*x^2", &point);
    assert_eq!(all["value"], 72.0);
    let all = succeeds(&["grad", "name*x^2", "--at", point[0], "--at", point[1], "--jacobian", "--json"]);
    assert!(all.contains(r#""jacobian":[{"row":"y","name":36.0,"x":24.0}]"#), "{all}");
}

#[test]
fn long_vectors_are_cut_in_tables_and_whole_in_results_and_json() {
    let point = format!("x={}", vec!["1"; 70_000 / 4].join(","));
    let text = succeeds(&["grad", "sum(x*x)", "--at", &point]);
    let table = text.split("\n  y ").next().expect("a list");
    assert!(table.lines().all(|line| line.chars().count() < 700), "{table}");
    assert!(table.contains("1, .. 1, 1"), "{table}");
    assert_eq!(text.lines().last().expect("the gradient").matches('2').count(), 17_500);
    let all = plain("sum(x*x)", &[&point]);
    assert_eq!(all["forward"][1]["value"].as_array().expect("a vector").len(), 17_500);
}

#[test]
fn a_long_list_is_printed_in_a_moment() {
    // Every row was as wide as the call that joins all numbers of the range.
    let text = succeeds(&["grad", "prod(i in 1..=1000, x)", "--at", "x=1"]);
    assert!(text.len() < 1_000_000, "{}", text.len());
    assert!(text.ends_with("dy/dx = 1000\n"));
}

#[cfg(unix)]
#[test]
fn a_device_is_no_program() {
    assert!(fails(&["run", "/dev/zero"], 1).contains("/dev/zero: it is a device"));
    assert!(fails(&["doctor", "/dev/zero"], 1).contains("/dev/zero: it is a device"));
}
