//! Worked examples: inputs with the outputs of an independent implementation.

use super::asking::output;
use serde_json::Value;
use std::fs;
use std::path::Path;
use wengert_gradbench::modules::MODULES;

/// The tolerance relative to the size of a number, and the absolute tolerance.
const RELATIVE: f64 = 1e-9;
const ABSOLUTE: f64 = 1e-13;

/// Where two trees differ: in keys, in lengths, in types or by more than the tolerance.
fn difference(found: &Value, expected: &Value) -> Option<String> {
    let within = |place: &str, inner: Option<String>| inner.map(|inner| format!("{place}: {inner}"));
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            b.iter().find_map(|(key, b)| within(key, difference(a.get(key).unwrap_or(&Value::Null), b)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| within(&i.to_string(), difference(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            ((a - b).abs() > RELATIVE * b.abs() + ABSOLUTE).then(|| format!("{a}, expected {b}"))
        }
        _ => Some(format!("{found}, expected {expected}")),
    }
}

#[test]
fn every_worked_example_is_reproduced() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples");
    let mut seen = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let module = MODULES.iter().find(|module| stem.starts_with(module.name)).unwrap_or_else(|| panic!("{stem}"));
        let examples: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for (name, _) in module.functions {
            // The four modes of `particle` and `saddle` give the same result, so there is one example.
            let example = examples.get(name).or(examples.get("ff")).unwrap_or_else(|| panic!("{stem}: {name}"));
            let found = output(module.name, name, &example["input"]);
            let wrong = difference(&found, &example["output"]);
            assert_eq!(wrong, None, "{stem} {name}");
        }
        seen.push(module.name);
    }
    for module in MODULES {
        assert!(seen.contains(&module.name), "{} has no example", module.name);
    }
}

#[test]
fn differences_between_trees_are_seen() {
    let tree: Value = serde_json::from_str(r#"{"a": [1.0, 2], "b": {"c": 1e-5}}"#).unwrap();
    assert_eq!(difference(&tree, &tree), None);
    for other in [
        r#"{"a": [1.0, 2.0000001], "b": {"c": 1e-5}}"#,
        r#"{"a": [1.0, 2], "b": {"c": 1.00001e-5}}"#,
        r#"{"a": [1.0], "b": {"c": 1e-5}}"#,
        r#"{"a": [1.0, 2], "b": {"d": 1e-5}}"#,
        r#"{"a": [1.0, 2], "b": 1e-5}"#,
        r#"{"a": [1.0, 2]}"#,
    ] {
        assert!(difference(&tree, &serde_json::from_str(other).unwrap()).is_some(), "{other}");
    }
}
