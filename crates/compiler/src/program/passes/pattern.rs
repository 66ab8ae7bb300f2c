//! Rewrite rules as text, parsed and matched: `sub(x, neg(y)) = add(x, y)`.

use super::edit::Edit;
use super::known::{is_commutative, known};
use crate::primitive::{Attrs, Primitive, Spec};
use crate::program::parse::{attributes, closing, parenthesised, split};
use crate::program::{Equation, Var};
use smallvec::SmallVec;

/// The two sides of an equation.
pub(super) struct Formula {
    left: Pattern,
    right: Pattern,
}

/// A term of an equation.
enum Pattern {
    /// Matches anything, but the same wherever this name occurs.
    Name(usize),
    /// A tensor filled with this number.
    Number(f64),
    Call {
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: Vec<Pattern>,
    },
}

/// The variables that names are bound to.
type Bindings = SmallVec<[Option<Var>; 4]>;

impl Formula {
    /// Parses a rule, ignoring a restriction in words.
    pub fn parse(text: &'static str) -> Formula {
        let equation = text.split_once(" for ").map_or(text, |(equation, _)| equation);
        let (left, right) = equation.split_once(" = ").unwrap_or_else(|| panic!("'{text}' is no equation"));
        let mut names = Vec::new();
        let left = Pattern::parse(left, &mut names);
        let known = names.len();
        let right = Pattern::parse(right, &mut names);
        assert!(names.len() == known, "'{text}': the right side has a name that the left side lacks");
        Formula { left, right }
    }

    pub fn apply(&self, edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
        let Pattern::Call { attrs, operands, .. } = &self.left else { unreachable!("the left side is a call") };
        let mut bindings = Bindings::from_elem(None, 4);
        if *attrs != equation.attrs || !fits_all(operands, equation.op, &equation.inputs, edit, &mut bindings) {
            return None;
        }
        let spec = edit.spec(equation.outputs[0]).clone();
        Some(self.right.build(edit, &bindings, &spec))
    }
}

impl Pattern {
    fn parse(text: &'static str, names: &mut Vec<&'static str>) -> Pattern {
        let text = text.trim();
        if let Ok(number) = text.parse() {
            return Pattern::Number(number);
        }
        let Some(end) = text.find(['(', '[']) else {
            let place = names.iter().position(|name| *name == text).unwrap_or_else(|| {
                names.push(text);
                names.len() - 1
            });
            return Pattern::Name(place);
        };
        let (op, rest) = (known(&text[..end]), &text[end..]);
        let wrong = |error: String| -> ! { panic!("'{text}': {error}") };
        let (attrs, rest) = match rest.starts_with('[') {
            true => {
                let end = closing(rest).unwrap_or_else(|error| wrong(error));
                (attributes(op, &rest[1..end]).unwrap_or_else(|error| wrong(error)), &rest[end + 1..])
            }
            false => (Attrs::new(), rest),
        };
        let operands = parenthesised(rest).unwrap_or_else(|error| wrong(error));
        Pattern::Call { op, attrs, operands: split(operands).map(|operand| Pattern::parse(operand, names)).collect() }
    }

    fn fits(&self, var: Var, edit: &Edit<'_>, bindings: &mut Bindings) -> bool {
        match self {
            Pattern::Name(place) => *bindings[*place].get_or_insert(var) == var,
            Pattern::Number(number) => edit.number(var).is_some_and(|found| found.is(*number)),
            Pattern::Call { op, attrs, operands } => edit.definition(var).is_some_and(|equation| {
                equation.op.is(*op)
                    && equation.attrs == *attrs
                    && fits_all(operands, equation.op, &equation.inputs, edit, bindings)
            }),
        }
    }

    fn build(&self, edit: &mut Edit<'_>, bindings: &Bindings, spec: &Spec) -> Var {
        match self {
            Pattern::Name(place) => bindings[*place].expect("the left side binds every name"),
            Pattern::Number(number) => edit.filled(*number, spec),
            Pattern::Call { op, attrs, operands } => {
                let operands: SmallVec<[Var; 4]> =
                    operands.iter().map(|operand| operand.build(edit, bindings, spec)).collect();
                edit.call(*op, attrs.clone(), &operands)
            }
        }
    }
}

/// Whether the patterns match the operands, in either order if the operation is commutative.
fn fits_all(
    patterns: &[Pattern],
    op: &'static dyn Primitive,
    vars: &[Var],
    edit: &Edit<'_>,
    bindings: &mut Bindings,
) -> bool {
    let before = bindings.clone();
    if patterns.len() == vars.len()
        && patterns.iter().zip(vars).all(|(pattern, var)| pattern.fits(*var, edit, bindings))
    {
        return true;
    }
    *bindings = before;
    match (patterns, vars) {
        ([a, b], [x, y]) if is_commutative(op) => a.fits(*y, edit, bindings) && b.fits(*x, edit, bindings),
        _ => false,
    }
}
