//! Tracing twice: a function that is staged does the same whenever it is traced.

use crate::location;
use crate::primitive::{Attr, Attrs};
use crate::program::{Equation, Program, Var};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::sync::OnceLock;

/// Whether the environment asks that every function is traced twice: `WENGERT_CHECK=trace`.
pub(super) fn is_asked() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED
        .get_or_init(|| std::env::var("WENGERT_CHECK").is_ok_and(|words| words.split(',').any(|word| word == "trace")))
}

/// What two traces of one function differ in.
pub(super) fn difference(first: &Program, second: &Program) -> Option<Error> {
    let mut pairs = Pairs { first, second, known: vec![None; first.variables()] };
    for (a, b) in first.inputs().iter().zip(second.inputs()) {
        pairs.known[a.index()] = Some(*b);
    }
    for (number, (a, b)) in first.equations().iter().zip(second.equations()).enumerate() {
        if let Some(constants) = pairs.differing_constant(&a.inputs, &b.inputs) {
            let message = format!("the constant of equation {number}, {}, {constants}", told(second, b));
            return Some(error(&message, Some(b)));
        }
        if !pairs.same_equation(a, b) {
            let message = format!("equation {number} was {} and is now {}", told(first, a), told(second, b));
            return Some(error(&message, Some(b)));
        }
    }
    let (before, now) = (first.equations().len(), second.equations().len());
    if before != now {
        let (program, all) = if now > before { (second, second.equations()) } else { (first, first.equations()) };
        let extra = &all[before.min(now)];
        let message = format!("it had {before} equations and has {now} now; one has {} besides", told(program, extra));
        return Some(error(&message, Some(extra)));
    }
    if let Some(constants) = pairs.differing_constant(first.outputs(), second.outputs()) {
        return Some(error(&format!("what it returns is a constant that {constants}"), None));
    }
    let same = first.outputs().len() == second.outputs().len()
        && first.outputs().iter().zip(second.outputs()).all(|(a, b)| pairs.known[a.index()] == Some(*b));
    if same { None } else { Some(error("it returns other variables of the same equations", None)) }
}

fn error(message: &str, equation: Option<&Equation>) -> Error {
    let message = format!("the function does something else when it is traced again: {message}");
    let error = Error::new(ErrorKind::Retraced, "compile", message)
        .help("make what changes an input: counters, random numbers of the host and the order of a HashMap are frozen by a trace");
    equation.and_then(|equation| equation.line).into_iter().fold(error, Error::at)
}

fn told(program: &Program, equation: &Equation) -> String {
    let text = program.equation_text(equation);
    match equation.line.map(location::shown) {
        Some(line) => format!("`{text}` at {}:{}:{}", line.file(), line.line(), line.column()),
        None => format!("`{text}`"),
    }
}

/// Variables of two programs that stand for the same.
struct Pairs<'p> {
    first: &'p Program,
    second: &'p Program,
    known: Vec<Option<Var>>,
}

impl Pairs<'_> {
    fn capture(program: &Program, var: Var) -> Option<&Tensor> {
        program.captures().iter().find(|(captured, _)| *captured == var).map(|(_, tensor)| tensor)
    }

    /// Pairs captured tensors; two at one place with other numbers are told.
    fn differing_constant(&mut self, first: &[Var], second: &[Var]) -> Option<String> {
        for (a, b) in first.iter().zip(second) {
            let known = self.known[a.index()];
            let (Some(x), Some(y)) = (Self::capture(self.first, *a), Self::capture(self.second, *b)) else { continue };
            if known.is_none() && same_tensor(x, y) {
                self.known[a.index()] = Some(*b);
            } else if known != Some(*b) && !same_tensor(x, y) {
                return Some(format!("was {} and is now {}", short(x), short(y)));
            }
        }
        None
    }

    fn same_equation(&mut self, a: &Equation, b: &Equation) -> bool {
        let reads = a.inputs.len() == b.inputs.len()
            && a.inputs.iter().zip(&b.inputs).all(|(a, b)| self.known[a.index()] == Some(*b));
        let writes = a.outputs.len() == b.outputs.len()
            && a.outputs.iter().zip(&b.outputs).all(|(a, b)| self.first.spec(*a) == self.second.spec(*b));
        for (a, b) in a.outputs.iter().zip(&b.outputs) {
            self.known[a.index()] = Some(*b);
        }
        reads && writes && std::ptr::addr_eq(a.op, b.op) && a.op.name() == b.op.name() && same_attrs(&a.attrs, &b.attrs)
    }
}

/// Functions are made again by every trace: those of one name are the same.
fn same_attrs(a: &Attrs, b: &Attrs) -> bool {
    let same = |(a, b): (&(&'static str, Attr), &(&'static str, Attr))| match (&a.1, &b.1) {
        (Attr::Function(a), Attr::Function(b)) => format!("{a:?}") == format!("{b:?}"),
        (Attr::Programs(a), Attr::Programs(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| difference(a, b).is_none())
        }
        _ => a == b,
    };
    a.iter().count() == b.iter().count() && a.iter().zip(b.iter()).all(same)
}

/// Whether two captured tensors are the same numbers, to the bit.
fn same_tensor(a: &Tensor, b: &Tensor) -> bool {
    if a.spec() != b.spec() {
        return false;
    }
    match (&a.value, &b.value) {
        (Value::Tracer(_), Value::Tracer(_)) => true,
        (Value::Tracer(_), _) | (_, Value::Tracer(_)) => false,
        _ => a.plain().contiguous().row_major_bytes() == b.plain().contiguous().row_major_bytes(),
    }
}

/// A tensor's text, if it is short.
fn short(tensor: &Tensor) -> String {
    match tensor.elements() {
        0..=8 => tensor.to_string(),
        _ => format!("other numbers of {}", tensor.spec()),
    }
}
