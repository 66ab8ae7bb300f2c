//! `wengert grad`: derivatives of expressions.

use crate::command::{fails, succeeds, wengert};
use serde_json::Value;
use std::fs;
use std::path::Path;
use wengert::prelude::*;
use wengert_cli::grad::{Options, run};
use wengert_cli::paint::Paint;

/// The report of an expression as JSON, without starting the command.
fn report(expression: &str, at: &[&str], set: impl FnOnce(&mut Options)) -> Value {
    let at = at.iter().map(|text| text.to_string()).collect();
    let mut options = Options { expression: expression.into(), at, json: true, ..Options::default() };
    set(&mut options);
    let mut out = Vec::new();
    run(&options, Paint::PLAIN, &mut out).unwrap_or_else(|failure| panic!("{expression}: {failure}"));
    serde_json::from_slice(&out).unwrap_or_else(|error| panic!("{expression}: {error}"))
}

pub fn plain(expression: &str, at: &[&str]) -> Value {
    report(expression, at, |_| {})
}

/// A number, or the text that stands for it.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().and_then(|text| text.parse().ok()).expect("a number"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

/// The columns of a table, without the first one.
fn table(value: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_object().expect("a row").values().skip(1).map(number).collect();
    value.as_array().expect("a table").iter().map(row).collect()
}

/// Compares what a command prints with a file; `WENGERT_BLESS=1` rewrites it.
fn prints(name: &str, arguments: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/grad/{name}.txt"));
    let output = wengert(&[&["grad"], arguments].concat());
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let quoted: Vec<String> = arguments.iter().map(|text| format!(" '{text}'")).collect();
    let code = output.status.code().expect("it ends by itself");
    let text = format!("$ wengert grad{}\n{out}{err}exit code {code}\n", quoted.concat());
    if std::env::var_os("WENGERT_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name}: WENGERT_BLESS=1 cargo test -p wengert-cli grad accepts the new text");
}

#[test]
fn expressions_print_their_lists_and_derivatives() {
    prints("classic", &["x1*x2 + sin(x1)", "--at", "x1=2", "--at", "x2=3"]);
    prints("value_used_twice", &["let t = x^2; t * sin(t)", "--at", "x=2", "--contributions"]);
    prints("vector", &["norm(x * [1, 2, 2]) + x[0]", "--at", "x=1,2,-1"]);
    prints("range", &["sum(i in 1..=3, x^i / i)", "--at", "x=0.5"]);
    prints("seed", &["(x1^2 + x2, x1*x2)", "--at", "x1=2", "--at", "x2=3", "--seed", "1,2"]);
    prints("jacobian", &["(x1^2 + x2, x1*x2)", "--at", "x1=2", "--at", "x2=3", "--jacobian"]);
    prints("hessian", &["(1 - x[0])^2 + 100*(x[1] - x[0]^2)^2", "--at", "x=[-1, 2]", "--hessian"]);
    prints("forward", &["x1*x2 + sin(x1)", "--at", "x1=2", "--at", "x2=3", "--forward"]);
    prints("orders", &["exp(sin(x^2+1))", "--at", "x=0.5", "--order", "4"]);
    prints("orders_along", &["x*y^2", "--at", "y=2", "--at", "x=3", "--order", "4", "--along", "1,-1"]);
    prints("check", &["max(x, 0) * y", "--at", "x=1", "--at", "y=-2", "--check"]);
    prints("check_at_a_kink", &["abs(x)", "--at", "x=5e-5", "--check"]);
    prints("program", &["x1*x2 + sin(x1)", "--at", "x1=2", "--at", "x2=3", "--program"]);
    prints("json", &["x * exp(-x)", "--at", "x=1", "--hessian", "--contributions", "--json"]);
    prints("no_variables", &["2 * (pi - 1)"]);
    prints("outside_the_domain", &["2 * log(x) + 1", "--at", "x=-1"]);
    prints("no_gradient", &["x + x^x", "--at", "x=-2"]);
}

#[test]
fn mistakes_point_into_the_expression() {
    prints("unknown_function", &["x1 * sni(x1)", "--at", "x1=2"]);
    prints("missing_operator", &["2x + 1", "--at", "x=2"]);
    prints("missing_operand", &["x + * 2", "--at", "x=2"]);
    prints("open_parenthesis", &["sin(x + (x * 2)", "--at", "x=2"]);
    prints("missing_value", &["alpha * x", "--at", "x=2", "--at", "alhpa=3"]);
    prints("unused_value", &["2 * x", "--at", "x=2", "--at", "y=3"]);
    prints("wrong_number_of_arguments", &["x + atan2(x)", "--at", "x=2"]);
    prints("shapes", &["sum(x + 1) + dot(x, x * y)", "--at", "x=1,2", "--at", "y=1,2,3"]);
    prints("long_seed", &["(x, x^2)", "--at", "x=2", "--seed", "1,2,3"]);
    prints("vector_without_seed", &["(x, x^2)", "--at", "x=2"]);
    prints("hessian_of_a_vector", &["(x, x^2)", "--at", "x=2", "--jacobian", "--hessian"]);
    prints("long_range", &["sum(i in 1..1e12, x^i)", "--at", "x=2"]);
    prints("range_of_a_variable", &["sum(i in 1..x, i)", "--at", "x=2"]);
    prints("missing_direction", &["x * y", "--at", "x=2", "--at", "y=3", "--order", "2"]);
}

#[test]
fn values_and_gradients_are_exact() {
    let all = plain("exp(sin(x^2+1))", &["x=0.5"]);
    assert_eq!((number(&all["value"]), number(&all["gradient"]["x"])), (2.583085512255227, 0.814504625993311));
    assert_eq!(number(&plain("x^2+sin(x^2)", &["x=2"])["gradient"]["x"]), 1.3854255165455522);
    let all = plain("x1*x2+sin(x1)", &["x1=2", "x2=3"]);
    assert_eq!(number(&all["value"]), 6.909297426825682);
    assert_eq!(all["gradient"]["x1"], serde_json::json!(3.0 + 2f64.cos()));
    assert_eq!(number(&all["gradient"]["x2"]), 2.0);
    let seeded = report("(x1^2 + x2, x1*x2)", &["x1=2", "x2=3"], |options| options.seed = Some("1,2".into()));
    assert_eq!((number(&seeded["gradient"]["x1"]), number(&seeded["gradient"]["x2"])), (10.0, 5.0));
    assert_eq!(numbers(&seeded["value"]), [7.0, 6.0]);
}

#[test]
fn operators_bind_as_in_mathematics() {
    let cases = [
        ("-2^2", -4.0),
        ("2^3^2", 512.0),
        ("2^-1", 0.5),
        ("2 - 3 - 4", -5.0),
        ("2 - 3 * 4 / 6", 0.0),
        ("-2 * -3", 6.0),
        ("--2", 2.0),
        ("8 / 2 / 2", 2.0),
        ("[1, 2, 3][1 + 1]", 3.0),
        ("sum((1, [2, 3]))", 6.0),
        ("prod(i in 1..=5, i)", 120.0),
        ("sum(i in 0..3, sum(j in 0..i, 10 * i + j))", 51.0),
        ("sum(i in 5..3, i)", 0.0),
        ("let a = 2; let a = a * a; a * 1e-3", 0.004),
        ("max([3, 4]) + max(1, 2) + min([3, 4]) + min(1, 2)", 10.0),
        ("ln(e) + pow(2, 3) + cos(pi)", 8.0),
    ];
    for (expression, expected) in cases {
        let value = number(&plain(expression, &[])["value"]);
        assert_eq!(value, expected, "{expression}");
    }
    assert!(fails(&["grad", "mean(i in 5..5, i)"], 2).contains("the value is NaN"));
}

#[test]
fn second_derivatives_have_known_values() {
    let hessian =
        |expression: &str, at: &[&str]| table(&report(expression, at, |options| options.hessian = true)["hessian"]);
    assert_eq!(hessian("x^2 * y", &["x=3", "y=5"]), [[10.0, 6.0], [6.0, 0.0]]);
    assert_eq!(hessian("exp(2*x)", &["x=0"]), [[4.0]]);
    let rosenbrock = "(1 - x[0])^2 + 100*(x[1] - x[0]^2)^2";
    assert_eq!(hessian(rosenbrock, &["x=1,1"]), [[802.0, -400.0], [-400.0, 200.0]]);
    assert_eq!(hessian("prod(x)", &["x=2,3,5"]), [[0.0, 5.0, 3.0], [5.0, 0.0, 2.0], [3.0, 2.0, 0.0]]);
    let orders = report("sin(x)", &["x=0"], |options| options.order = Some(5));
    assert_eq!(table(&orders["orders"]).concat(), [0.0, 1.0, 0.0, -1.0, 0.0, 1.0]);
}

#[test]
fn tangents_of_forward_mode_are_the_gradient_in_the_last_row() {
    for (expression, at) in [
        ("x1*x2 + sin(x1)", &["x1=2", "x2=3"][..]),
        ("sum(x * y) / norm(x)", &["x=1,2", "y=3"][..]),
        ("let t = x*y; sum(i in 0..4, t^i) + 0*floor(y)", &["x=0.5", "y=3"][..]),
    ] {
        let all = report(expression, at, |options| options.forward = true);
        let (forward, tangents) = (&all["forward"].as_array().unwrap(), &all["tangents"].as_array().unwrap());
        assert_eq!(forward.len(), tangents.len());
        assert!(forward.iter().zip(*tangents).all(|(row, other)| row["operation"] == other["operation"]));
        let last: Vec<f64> = tangents.last().unwrap().as_object().unwrap().values().skip(3).map(number).collect();
        let gradient = all["gradient"].as_object().unwrap().values();
        let gradient: Vec<f64> = gradient
            .flat_map(|part| part.as_array().cloned().unwrap_or(vec![part.clone()]))
            .map(|v| number(&v))
            .collect();
        assert!(Tensor::from(last).all_close(&Tensor::from(gradient), 1e-14), "{expression}");
    }
}

/// A row of the table of functions by its name, and the method of tensors.
struct Row(&'static str, fn(&Tensor) -> Tensor);

macro_rules! all_rows {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident { $($row:tt)* })*) => {
        const ROWS: &[Row] = &[$(Row(stringify!($name), |x| x.$name())),*];
    };
}
wengert_kernels::functions!(all_rows);

#[test]
fn every_function_of_the_table_is_called_by_its_name() {
    assert!(ROWS.len() > 40);
    for Row(name, method) in ROWS {
        for x in [0.3, 1.7] {
            let (value, slope) = value_and_grad(method)(&Tensor::from(x));
            let (expression, at) = (format!("{name}(x)"), format!("x={x}"));
            if value.item().is_nan() {
                assert!(fails(&["grad", &expression, "--at", &at], 2).contains(&format!("\n{name}: it produced NaN")));
                continue;
            }
            let all = plain(&expression, &[&at]);
            for (found, expected) in [(&all["value"], value.item()), (&all["gradient"]["x"], slope.item())] {
                let found = number(found);
                assert_eq!(found, expected, "{name}({x})");
            }
        }
    }
}

#[test]
fn elementwise_primitives_of_two_numbers_are_called_by_their_names() {
    let at = ["x=1.5", "y=-0.7"];
    let (x, y) = (Tensor::from(1.5), Tensor::from(-0.7));
    let cases: [(&str, fn(&Tensor, &Tensor) -> Tensor); 6] = [
        ("hypot", |x, y| x.hypot(y)),
        ("atan2", |x, y| x.atan2(y)),
        ("logaddexp", |x, y| x.logaddexp(y)),
        ("copysign", |x, y| x.copysign(y)),
        ("remainder", |x, y| x.remainder(y)),
        ("maximum", |x, y| x.maximum(y)),
    ];
    for (name, method) in cases {
        let all = plain(&format!("{name}(x, y)"), &at);
        let (dx, dy) = grad(|(x, y): &(Tensor, Tensor)| method(x, y))(&(x.clone(), y.clone()));
        assert_eq!(number(&all["value"]), method(&x, &y).item(), "{name}");
        assert_eq!(number(&all["gradient"]["x"]), dx.item(), "{name}");
        assert_eq!(number(&all["gradient"]["y"]), dy.item(), "{name}");
    }
}

#[test]
fn an_expression_of_ten_thousand_terms_is_differentiated() {
    let terms: Vec<String> = (1..=10_000).map(|k| format!("x*{k}")).collect();
    let all = plain(&terms.join(" + "), &["x=2"]);
    assert_eq!(number(&all["value"]), 100_010_000.0);
    assert_eq!(number(&all["gradient"]["x"]), 50_005_000.0);
    let all = plain("sum(i in 1..=10000, x*i)", &["x=2"]);
    assert_eq!(number(&all["gradient"]["x"]), 50_005_000.0);
}

#[test]
fn deep_nesting_and_long_ranges_are_mistakes() {
    let deep = |open: &str, close: &str, depth: usize| format!("{}x{}", open.repeat(depth), close.repeat(depth));
    for expression in [deep("(", ")", 50_000), deep("-", "", 50_000), deep("x^", "", 50_000), deep("sin(", ")", 1000)] {
        let message = fails(&["grad", &expression, "--at", "x=1"], 2);
        assert!(message.contains("nested more than") && message.contains('^'), "{message}");
    }
    // A thread of a test has less stack than the command.
    assert_eq!(number(&plain(&deep("(", ")", 190), &["x=1"])["value"]), 1.0);
    assert_eq!(number(&plain(&deep("sum([", "])", 95), &["x=1"])["gradient"]["x"]), 1.0);
    for range in ["0..1e15", "-1e15..1e15", "0..=9e18"] {
        fails(&["grad", &format!("sum(i in {range}, x)"), "--at", "x=1"], 2);
    }
    let nested = "sum(i in 0..1000, sum(j in 0..1000, sum(k in 0..1000, x)))";
    assert!(fails(&["grad", nested, "--at", "x=1"], 2).contains("steps"));
}

#[test]
fn the_command_takes_its_arguments_as_they_are_typed() {
    assert!(succeeds(&["grad", "-x^2", "--at", "x=-3"]).contains("dy/dx = 6\n"));
    assert!(succeeds(&["grad", "x", "--at", "x=3"]).contains("\n  v1  1\n"));
    assert!(succeeds(&["grad", "--at", "x=-1,2", "x[0] * x[1]"]).contains("dy/dx = [2, -1]\n"));
    assert!(
        succeeds(&["grad", "(x, y)", "--at", "x=pi/2", "--at", "y=[1]", "--seed", "-1,2"]).contains("df/dx = -1\n")
    );
    assert!(fails(&["grad"], 2).contains("EXPR"));
    assert!(fails(&["grad", "x", "--at", "x"], 2).contains("NAME=VALUE"));
    assert!(fails(&["grad", "x", "--at", "x=1", "--at", "x=2"], 2).contains("given twice"));
    assert!(fails(&["grad", "x", "--at", "x=1", "--at", "e=2"], 2).contains("it is the constant 2.718"));
    assert!(fails(&["grad", "x", "--at", "x=1+"], 2).contains("--at x: the expression ends here"));
    assert!(fails(&["grad", "x", "--at", "x=y"], 2).contains("'y' is no number\n  y\n  ^"));
    assert!(fails(&["grad", "x", "--at", "x=0/0"], 2).contains("not a number"));
    assert!(fails(&["grad", "x", "--at", "x=1", "--order", "101"], 2).contains("101"));
    assert!(fails(&["grad", "x", "--at", "x=1", "--along", "1"], 2).contains("--order"));
    assert!(fails(&["grad", "stop_gradient(x) * x", "--at", "x=2", "--check"], 1).contains("differ"));
    assert!(succeeds(&["grad", "--help"]).contains("sum(i in 1..=3, x^i / i)"));
}

#[test]
fn numbers_that_json_lacks_are_texts() {
    let all = plain("log(x)", &["x=0"]);
    assert_eq!((all["value"].as_str(), all["gradient"]["x"].as_str()), (Some("-Infinity"), Some("Infinity")));
    let all = plain("x + x^x", &["x=-2"]);
    assert_eq!((number(&all["value"]), all["gradient"]["x"].as_str()), (-1.75, Some("NaN")));
    assert!(all["nan"].as_str().is_some_and(|text| text.starts_with("pow: ") && text.contains("\n  x + x^x\n")));
}

#[test]
fn a_derivative_that_is_nan_is_explained_where_value_and_gradient_are_not() {
    let explained = |set: fn(&mut Options)| {
        let all = report("norm([x, x^2]) * x", &["x=0"], set);
        assert_eq!((number(&all["value"]), number(&all["gradient"]["x"])), (0.0, 0.0));
        all["nan"].as_str().map(str::to_string)
    };
    assert_eq!(explained(|_| ()), None);
    let ways: [fn(&mut Options); 2] = [|options| options.hessian = true, |options| options.order = Some(2)];
    for set in ways {
        let told = explained(set).expect("the second derivative is NaN");
        assert!(
            told.contains("derivative of this operation is NaN") && told.contains("\n  norm([x, x^2]) * x\n  ^^^^\n"),
            "{told}"
        );
    }
}

#[test]
fn a_point_outside_the_domain_prints_nothing_but_still_draws() {
    let file = std::env::temp_dir().join(format!("wengert_outside_{}.svg", std::process::id()));
    let path = file.to_str().expect("the path is text");
    let output = wengert(&["grad", "2 * log(x)", "--at", "x=-1", "--json", "--svg", path]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(told.contains("the value is NaN") && told.contains("\n  2 * log(x)\n      ^^^\n"), "{told}");
    assert!(fs::read_to_string(&file).expect("a picture").contains("NaN"));
    fs::remove_file(file).expect("the file is ours");
}

#[test]
fn more_derivatives_than_anyone_reads_are_refused() {
    let at = format!("x={}", vec!["1"; 1001].join(","));
    let told = fails(&["grad", "sum(x^2)", "--at", &at, "--hessian"], 2);
    assert!(told.contains("--hessian: 1001 rows of 1001 derivatives are more than"), "{told}");
    let told = fails(&["grad", "(x, x)", "--at", &at, "--jacobian"], 2);
    assert!(told.contains("--jacobian: 2002 rows of 1001"), "{told}");
    let told = fails(&["grad", "sum(x^2)", "--at", &at, "--order", "2"], 2);
    assert!(told.contains("x[9], ..\n") && !told.contains("x[10]"), "{told}");
}
