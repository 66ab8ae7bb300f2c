//! Where an expression is evaluated: the values of its variables, in the order of its text.

use crate::expression::{Fault, Span, Tree, constant, parse};
use crate::failure::Failure;
use crate::nearest::{nearest, shortened};
use std::collections::BTreeMap;
use wengert::prelude::*;

/// The value of an expression without variables, such as `1,2,3` or `pi/2`; `option` says what it was given for.
pub fn evaluated(option: &str, text: &str) -> Result<Tensor, Failure> {
    let value = parse(text).and_then(|tree| match tree.variables.first() {
        Some((name, place)) => Err(Fault::new(format!("'{name}' is no number")).at(*place)),
        None => Ok(tree.evaluate(&[])?.output),
    });
    let value = value.map_err(|fault| Failure::usage(format!("{option}: {}", fault.text(text))))?;
    match value.to_f64_vec().iter().any(|number| number.is_nan()) {
        true => Err(Failure::usage(format!("{option}: {} is not a number", shortened(text)))),
        false => Ok(value),
    }
}

/// The numbers of an option, such as a seed.
pub fn numbers(option: &str, text: &str) -> Result<Vec<f64>, Failure> {
    Ok(evaluated(option, text)?.to_f64_vec())
}

/// The variables of an expression and their values, given as `name=value`.
pub fn point(tree: &Tree, source: &str, given: &[String]) -> Result<Vec<(String, Tensor)>, Failure> {
    let mut values: BTreeMap<&str, (Tensor, &str)> = BTreeMap::new();
    for text in given {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value));
        let Some((name, value)) = parts.filter(|(name, _)| !name.is_empty()) else {
            let text = shortened(text);
            return Err(Failure::usage(format!("--at {text}: a value is given as NAME=VALUE, such as --at x=2")));
        };
        if value.replace("..=", "..").contains('=') {
            let message = format!("--at {}: there is more than one =", shortened(text));
            return Err(Failure::usage(format!("{message}\n  every variable has its own option: --at x=1 --at y=2")));
        }
        if values.insert(name, (evaluated(&format!("--at {name}"), value)?, text)).is_some() {
            return Err(Failure::usage(format!("--at {name}: it is given twice\n  a vector is --at {name}=1,2,3")));
        }
    }
    let mut point = Vec::new();
    let mut missing = None;
    for (name, place) in &tree.variables {
        match values.remove(name.as_str()) {
            Some((value, _)) => point.push((name.clone(), value)),
            None => missing = missing.or(Some((name, place))),
        }
    }
    // What is left belongs to no variable.
    let unused: Vec<(&str, &str)> = values.into_iter().map(|(name, (_, text))| (name, text)).collect();
    if let Some((name, place)) = missing {
        let fault = Fault::new(format!("'{name}' has no value")).at(*place).help(format!("give it one: --at {name}=1"));
        let near = nearest(name, unused.iter().map(|(name, _)| *name))
            .first()
            .map(|near| format!("or is it '{near}', which is not used?"));
        return Err(near.into_iter().fold(fault, Fault::help).failure(source));
    }
    let Some((name, text)) = unused.first() else { return Ok(point) };
    let near = nearest(name, tree.variables.iter().map(|(name, _)| name.as_str()));
    let near = match (constant(name), near.is_empty()) {
        _ if tree.defined.iter().any(|defined| defined == name) => "the expression defines it".into(),
        (Some(number), _) => format!("it is the constant {number}"),
        (None, true) => "it has none".into(),
        (None, false) => format!("nearest: {}", near.join(", ")),
    };
    let start = text.find(name).unwrap_or_default();
    let place = Span { start, end: start + name.len() };
    Err(Fault::new(format!("--at: the expression has no variable '{name}'")).at(place).help(near).failure(text))
}

/// The name of every element of a tensor: `x`, or `x[0]`, `x[1]`, ..
pub fn elements(name: &str, tensor: &Tensor) -> Vec<String> {
    match tensor.rank() {
        0 => vec![name.to_string()],
        _ => (0..tensor.elements()).map(|place| format!("{name}[{place}]")).collect(),
    }
}

/// The name of every element of a point.
pub fn coordinates(point: &[(String, Tensor)]) -> Vec<String> {
    point.iter().flat_map(|(name, tensor)| elements(name, tensor)).collect()
}

/// The name of the value: one that no variable has.
pub fn output_name(point: &[(String, Tensor)]) -> &'static str {
    let is_free = |name: &&str| point.iter().all(|(known, _)| known != name);
    ["y", "f", "z"].into_iter().find(is_free).unwrap_or("value")
}
