//! Traces a function twice, to check that it does the same every time.

use crate::location::{self, Line};
use crate::primitive::{Attr, Attrs};
use crate::program::ProgramAttrs;
use crate::program::bodies_of;
use crate::program::{Equation, Program, Var};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor};
use std::sync::OnceLock;

/// Whether the environment requests that every function is traced twice: `WENGERT_CHECK=trace`.
pub(super) fn is_asked() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED
        .get_or_init(|| std::env::var("WENGERT_CHECK").is_ok_and(|words| words.split(',').any(|word| word == "trace")))
}

/// The difference between two traces of one function.
pub(super) fn difference(first: &Program, second: &Program) -> Option<Error> {
    let Difference { what, line } = found(first, second)?;
    let message = format!("the function does something else when it is traced again: {what}");
    let error = Error::new(ErrorKind::Retraced, "compile", message)
        .help("make what changes an input: counters, random numbers of the host and the order of a HashMap are frozen by a trace");
    Some(line.into_iter().fold(error, Error::at))
}

/// The difference in words, and the line of an equation that differs.
struct Difference {
    what: String,
    line: Option<Line>,
}

fn found(first: &Program, second: &Program) -> Option<Difference> {
    let told_by = |what: String, equation: &Equation| Some(Difference { what, line: equation.line });
    let mut pairs = Pairs { first, second, known: vec![None; first.variables()] };
    for (a, b) in first.inputs().iter().zip(second.inputs()) {
        pairs.known[a.index()] = Some(*b);
    }
    for (number, (a, b)) in first.equations().iter().zip(second.equations()).enumerate() {
        if let Some(constants) = pairs.differing_constant(&a.inputs, &b.inputs) {
            return told_by(format!("the constant of equation {number}, {}, {constants}", told(second, b)), b);
        }
        if !pairs.same_call(a, b) {
            return told_by(format!("equation {number} was {} and is now {}", told(first, a), told(second, b)), b);
        }
        if let Some(Difference { what, line }) = in_bodies(&a.attrs, &b.attrs) {
            let what = format!("in a body of equation {number}, {}, {what}", told(second, b));
            return Some(Difference { what, line: line.or(b.line) });
        }
        let calls = first.called(a).zip(second.called(b));
        if let Some(Difference { what, line }) = calls.and_then(|(a, b)| found(&a, &b)) {
            let what = format!("in the function that equation {number} calls, {}, {what}", told(second, b));
            return Some(Difference { what, line: line.or(b.line) });
        }
    }
    let (before, now) = (first.equations().len(), second.equations().len());
    if before != now {
        let (program, all) = if now > before { (second, second.equations()) } else { (first, first.equations()) };
        let extra = &all[before.min(now)];
        let message = format!("it had {before} equations and has {now} now; one has {} besides", told(program, extra));
        return told_by(message, extra);
    }
    if let Some(constants) = pairs.differing_constant(first.outputs(), second.outputs()) {
        return Some(Difference { what: format!("what it returns is a constant that {constants}"), line: None });
    }
    let (before, now) = (first.outputs().len(), second.outputs().len());
    if before != now {
        return Some(Difference { what: format!("it returned {before} tensors and returns {now} now"), line: None });
    }
    let same = first.outputs().iter().zip(second.outputs()).all(|(a, b)| pairs.known[a.index()] == Some(*b));
    let other = || Difference { what: "it returns other variables of the same equations".into(), line: None };
    (!same).then(other)
}

/// The difference between the programs in the attributes of two calls.
fn in_bodies(a: &Attrs, b: &Attrs) -> Option<Difference> {
    a.bodies().zip(b.bodies()).find_map(|((_, a), (_, b))| found(a, b))
}

fn told(program: &Program, equation: &Equation) -> String {
    let text = program.equation_text(equation);
    match equation.line.map(location::shown) {
        Some(line) => format!("`{text}` at {line}"),
        None => format!("`{text}`"),
    }
}

/// Corresponding variables of two programs.
struct Pairs<'p> {
    first: &'p Program,
    second: &'p Program,
    known: Vec<Option<Var>>,
}

impl Pairs<'_> {
    fn capture(program: &Program, var: Var) -> Option<&Tensor> {
        program.captures().iter().find(|(captured, _)| *captured == var).map(|(_, tensor)| tensor)
    }

    /// Pairs captured tensors; describes two corresponding ones with different values.
    fn differing_constant(&mut self, first: &[Var], second: &[Var]) -> Option<String> {
        for (a, b) in first.iter().zip(second) {
            let known = self.known[a.index()];
            let (Some(x), Some(y)) = (Self::capture(self.first, *a), Self::capture(self.second, *b)) else { continue };
            if known.is_none() && same_tensor(x, y) {
                self.known[a.index()] = Some(*b);
            } else if known != Some(*b) && !same_tensor(x, y) {
                let (was, is) = differing(x, y);
                return Some(format!("was {was} and is now {is}"));
            }
        }
        None
    }

    /// Whether two equations make the same call, ignoring the bodies.
    fn same_call(&mut self, a: &Equation, b: &Equation) -> bool {
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

/// Functions are created anew by every trace: those with the same name count as equal.
fn same_attrs(a: &Attrs, b: &Attrs) -> bool {
    let same = |(a, b): (&(&'static str, Attr), &(&'static str, Attr))| match (&a.1, &b.1) {
        (Attr::Other(one), Attr::Other(other)) => match (bodies_of(&a.1), bodies_of(&b.1)) {
            (Some(a), Some(b)) => a.len() == b.len(),
            _ => format!("{one:?}") == format!("{other:?}"),
        },
        _ => a == b,
    };
    a.iter().count() == b.iter().count() && a.iter().zip(b.iter()).all(same)
}

/// Whether two captured tensors have the same bits.
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

/// Two tensors in words: all their elements, or the first that differ if there are many.
fn differing(a: &Tensor, b: &Tensor) -> (String, String) {
    let is_traced = |tensor: &Tensor| matches!(tensor.value, Value::Tracer(_));
    if a.spec() != b.spec() || is_traced(a) || is_traced(b) {
        return (a.spec().to_string(), b.spec().to_string());
    }
    if a.elements() <= 8 {
        return (a.plain().to_string(), b.plain().to_string());
    }
    let (x, y) = (a.plain().to_f64_vec(), b.plain().to_f64_vec());
    let place = x.iter().zip(&y).position(|(x, y)| x.to_bits() != y.to_bits()).unwrap_or(0);
    let told = |number: f64| format!("{number} at element {place} of {}", a.spec());
    (told(x[place]), told(y[place]))
}
