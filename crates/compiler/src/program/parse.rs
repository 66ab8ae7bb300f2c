//! Parses the text of a program.

use super::{Equation, Program, ProgramAttr, Var};
use crate::location::Line;
use crate::primitive::{Attr, Attrs, Primitive, Spec};
use crate::program::ProgramAttrs;
use crate::registry::find as built_in;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use rustc_hash::FxHashMap;
use wengert_kernels::convert_bits;

impl Program {
    /// Parses and verifies a program. A trailing comment `// file:line:column` sets the source line of an equation, in whatever language
    /// the program was written.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let program = Program::parse("program(a: f64[]) {\n  b: f64[] = exp(a)  // model.txt:3:14\n  return b\n}").unwrap();
    /// assert_eq!(program.equations()[0].line, Some(wengert::Line::new("model.txt", 3, 14)));
    ///
    /// let error = Program::parse("program(a: f64[]) {\n  b: f64[] = frobnicate(a)\n  return b\n}").unwrap_err();
    /// assert!(error.to_string().contains("line 2: there is no primitive 'frobnicate'"));
    /// ```
    pub fn parse(text: &str) -> Result<Program, Error> {
        Program::parse_with(text, &[])
    }

    /// Parses a program that may use the additional primitives in `extra`.
    pub fn parse_with(text: &str, extra: &[&'static dyn Primitive]) -> Result<Program, Error> {
        Program::read(text, extra, &[])
    }

    /// Parses a program whose constants may be stored separately as bytes.
    pub(super) fn read(text: &str, extra: &[&'static dyn Primitive], data: &[Vec<u8>]) -> Result<Program, Error> {
        let all = text.lines().enumerate().collect::<Vec<_>>().into_iter();
        let mut lines = Lines { lines: all, number: 0, comment: "", depth: 0, extra, data };
        let Some(first) = lines.next() else { return Err(incomplete("return")) };
        let inputs = opened(first, "program").map_err(|message| lines.error(message))?;
        let (Reader { program, .. }, rest) = lines.block(inputs)?;
        if let Some(after) = Some(rest).filter(|rest| !rest.is_empty()).or_else(|| lines.next()) {
            return Err(lines.error(format!("'{after}' after the end")));
        }
        Ok(program)
    }
}

/// Maximum nesting depth of programs.
const DEEPEST: usize = 64;

fn incomplete(missing: &str) -> Error {
    Error::new(ErrorKind::Program, "parse", format!("the program has no {missing}"))
}

fn error_in(line: usize, message: &str) -> Error {
    Error::new(ErrorKind::Program, "parse", format!("line {line}: {message}"))
}

/// The remaining lines, without comments.
struct Lines<'a> {
    lines: std::vec::IntoIter<(usize, &'a str)>,
    /// The number of the last line read, from 1.
    number: usize,
    /// The text after `//` on that line.
    comment: &'a str,
    depth: usize,
    extra: &'a [&'static dyn Primitive],
    data: &'a [Vec<u8>],
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        for (number, line) in self.lines.by_ref() {
            self.number = number + 1;
            let (line, comment) = line.split_once("//").unwrap_or((line, ""));
            self.comment = comment.trim();
            let line = line.trim();
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    }

    fn error(&self, message: String) -> Error {
        error_in(self.number, &message)
    }

    /// Reads a program whose first line declared `inputs`; also returns the text after its closing brace.
    fn block(&mut self, inputs: &str) -> Result<(Reader, &'a str), Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(format!("programs lie inside each other more than {DEEPEST} times")));
        }
        let mut reader = Reader::default();
        reader.program.inputs = reader.declare(inputs).map_err(|message| self.error(message))?;
        loop {
            let line = self.next().ok_or_else(|| incomplete("return"))?;
            if let Some(rest) = line.strip_prefix("return ").or((line == "return").then_some("")) {
                reader.program.outputs = reader.known(rest).map_err(|message| self.error(message))?;
                break;
            }
            if line.starts_with("program") && !line.contains(" = ") {
                return Err(self.error("a program begins once, before everything else".into()));
            }
            match line.strip_prefix("const ") {
                Some(rest) => reader.constant(rest, self.data).map_err(|message| self.error(message))?,
                None => self.equation(&mut reader, line)?,
            }
        }
        let last = self.next().ok_or_else(|| incomplete("closing brace"))?;
        self.depth -= 1;
        match last.strip_prefix('}') {
            Some(rest) => Ok((reader, rest.trim())),
            None => Err(self.error(format!("'{last}' after the return"))),
        }
    }

    fn equation(&mut self, reader: &mut Reader, line: &'a str) -> Result<(), Error> {
        let (mut equation, declared, mut rest) = reader.call(line, self.extra).map_err(|m| self.error(m))?;
        let number = self.number;
        let mut bodies: Vec<(&'static str, Vec<ProgramAttr>)> = Vec::new();
        while !rest.is_empty() {
            let name = known_attribute(equation.op, rest.split('(').next().unwrap_or(""));
            let name = name.map_err(|message| self.error(message))?;
            let inputs = opened(rest, name).map_err(|message| self.error(message))?;
            let (body, after) = self.block(inputs)?;
            match bodies.last_mut().filter(|(last, _)| *last == name) {
                Some((_, list)) => list.push(body.program.into()),
                None => bodies.push((name, vec![body.program.into()])),
            }
            rest = after;
        }
        for (name, list) in bodies {
            expect_new(equation.op, &equation.attrs, name).map_err(|message| self.error(message))?;
            equation.attrs = equation.attrs.with_programs(name, list);
        }
        equation.outputs = reader.declare(declared).map_err(|message| self.error(message))?;
        equation.line = line_of(self.comment);
        // Names are defined once and before their use, so checking every equation verifies the whole program.
        let verified = reader.program.verify_call(&equation);
        verified.map_err(|error| error_in(number, error.message()).help_of(&error))?;
        reader.program.equations.push(equation);
        Ok(())
    }
}

/// The line that a comment gives as `file:line:column`.
fn line_of(comment: &str) -> Option<Line> {
    let (rest, column) = comment.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':').filter(|(file, _)| !file.is_empty())?;
    Some(Line::new(file, line.parse().ok()?, column.parse().ok()?))
}

/// The inputs declared by `name(inputs) {`.
fn opened<'a>(line: &'a str, name: &str) -> Result<&'a str, String> {
    let rest = line.strip_prefix(name).ok_or_else(|| format!("expected '{name}(', found '{line}'"))?;
    parenthesised(rest.trim_end().strip_suffix('{').ok_or("the first line ends with '{'")?)
}

fn known_attribute(op: &'static dyn Primitive, name: &str) -> Result<&'static str, String> {
    let known = op.attributes().iter().find(|known| **known == name.trim()).copied();
    known.ok_or_else(|| format!("{} has no attribute '{}'", op.name(), name.trim()))
}

/// Returns an error if an attribute is given twice.
fn expect_new(op: &'static dyn Primitive, given: &Attrs, name: &str) -> Result<(), String> {
    match given.iter().any(|(other, _)| *other == name) {
        true => Err(format!("{} is given the attribute '{name}' twice", op.name())),
        false => Ok(()),
    }
}

#[derive(Default)]
struct Reader {
    program: Program,
    names: FxHashMap<String, Var>,
}

impl Reader {
    fn constant(&mut self, text: &str, data: &[Vec<u8>]) -> Result<(), String> {
        let (declared, numbers) = text.split_once('=').ok_or("a constant needs '= numbers'")?;
        let [var] = self.declare(declared)?[..] else { return Err("a constant has one name".into()) };
        let spec = self.program.spec(var);
        let tensor = match numbers.trim().strip_prefix("data ") {
            Some(number) => kept_apart(number.trim(), data, spec)?,
            None => constant(numbers, spec)?,
        };
        self.program.captures.push((var, tensor));
        Ok(())
    }

    /// The call on a line, the variables it declares, and the text after its operands.
    fn call<'a>(
        &self,
        line: &'a str,
        extra: &[&'static dyn Primitive],
    ) -> Result<(Equation, &'a str, &'a str), String> {
        if line.starts_with("capture ") {
            return Err("a captured tensor lives in the process that traced it; pass it as an input".into());
        }
        let (declared, call) = line.split_once(" = ").ok_or("expected 'name: type = operation(operands)'")?;
        let name_end = call.find(['[', '(']).ok_or("expected an operation and its operands in parentheses")?;
        let (name, rest) = call.split_at(name_end);
        let find = |name: &str| extra.iter().copied().find(|op| op.name() == name).or_else(|| built_in(name));
        let op = find(name.trim())
            .ok_or_else(|| format!("there is no primitive '{}'; your own are given beside", name.trim()))?;
        let (attrs, operands) = match rest.starts_with('[') {
            true => {
                let end = closing(rest)?;
                (op.named(attributes(op, &rest[1..end])?, &find), &rest[end + 1..])
            }
            false => (Attrs::new(), rest),
        };
        let end = operands.find(')').map_or(operands.len(), |end| end + 1);
        let (operands, rest) = operands.split_at(end);
        let inputs = self.known(parenthesised(operands)?)?;
        Ok((Equation { op, attrs, inputs, outputs: Vec::new(), line: None, from_rule: false }, declared, rest.trim()))
    }

    /// `a: f64[2], b: i64[]`
    fn declare(&mut self, text: &str) -> Result<Vec<Var>, String> {
        split(text)
            .map(|entry| {
                let (name, spec) = entry.split_once(':').ok_or_else(|| format!("'{entry}' needs a type"))?;
                let var = Var(self.program.specs.len() as u32);
                self.program.specs.push(spec_of(spec.trim())?);
                match self.names.insert(name.trim().to_string(), var) {
                    None => Ok(var),
                    Some(_) => Err(format!("'{}' is defined twice", name.trim())),
                }
            })
            .collect()
    }

    fn known(&self, text: &str) -> Result<Vec<Var>, String> {
        split(text)
            .map(|name| self.names.get(name).copied().ok_or_else(|| format!("'{name}' is not defined")))
            .collect()
    }
}

/// Splits at commas outside of brackets.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        depth += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|entry| !entry.is_empty())
}

/// The text between parentheses that enclose all of `text`.
pub(super) fn parenthesised(text: &str) -> Result<&str, String> {
    let inside = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    inside.ok_or_else(|| format!("expected operands in parentheses, found '{}'", text.trim()))
}

/// The position of the bracket that closes the first one.
pub(super) fn closing(text: &str) -> Result<usize, String> {
    let mut depth = 0;
    for (position, c) in text.char_indices() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if depth == 0 {
            return Ok(position);
        }
    }
    Err("expected ']'".into())
}

fn spec_of(text: &str) -> Result<Spec, String> {
    let start = text.find('[').ok_or_else(|| format!("'{text}' is not a type such as f64[2, 3]"))?;
    let dtype = DType::from_name(&text[..start]).ok_or_else(|| format!("'{}' is not a dtype", &text[..start]))?;
    let inside = text[start..].strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inside = inside.ok_or_else(|| format!("'{text}' is not a type such as f64[2, 3]"))?;
    let sizes: Result<Shape, _> = split(inside).map(str::parse::<usize>).collect();
    let shape = sizes.map_err(|_| format!("'{text}' has a size that is not a number"))?;
    // Axes beside an empty one count too: they have strides, and sums over the empty axis have elements.
    let rest: Shape = shape.iter().copied().filter(|size| *size > 0).collect();
    [&shape, &rest].iter().try_for_each(|shape| shape.check("parse")).map_err(|error| error.message().to_string())?;
    Ok(Spec { shape, dtype })
}

fn constant(text: &str, spec: &Spec) -> Result<Tensor, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() != spec.shape.elements() {
        return Err(format!("{} numbers for {spec}", words.len()));
    }
    let bad = |word: &str| format!("'{word}' is not a number");
    match spec.dtype {
        DType::I64 => {
            let numbers: Result<Vec<i64>, _> = words.iter().map(|w| w.parse().map_err(|_| bad(w))).collect();
            Ok(Tensor::from_vec(numbers?, spec.shape.clone()))
        }
        dtype => {
            // A NaN may be given by its bits.
            let bits = |word: &str| match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok().filter(|bits| bits >> (8 * dtype.size() - 1) < 2),
                None => word.parse::<f64>().ok().map(|number| convert_bits(number.to_bits(), DType::F64, dtype)),
            };
            let bits: Result<Vec<u64>, _> = words.iter().map(|word| bits(word).ok_or_else(|| bad(word))).collect();
            let bytes: Vec<u8> =
                bits?.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size())).collect();
            of_bytes(&bytes, spec)
        }
    }
}

fn kept_apart(number: &str, data: &[Vec<u8>], spec: &Spec) -> Result<Tensor, String> {
    let bytes = number.parse().ok().and_then(|number: usize| data.get(number));
    of_bytes(bytes.ok_or_else(|| format!("there is no data '{number}'"))?, spec)
}

fn of_bytes(bytes: &[u8], spec: &Spec) -> Result<Tensor, String> {
    if bytes.len() != spec.bytes() {
        return Err(format!("{} bytes for {spec}", bytes.len()));
    }
    if spec.dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
        return Err("a boolean is 0 or 1".into());
    }
    Ok(Tensor::build(spec, |out| out.bytes.copy_from_slice(bytes)).0)
}

pub(super) fn attributes(op: &'static dyn Primitive, text: &str) -> Result<Attrs, String> {
    split(text).try_fold(Attrs::new(), |attrs, entry| {
        let (name, value) = entry.split_once('=').ok_or_else(|| format!("attribute '{entry}' needs a value"))?;
        let name = known_attribute(op, name)?;
        expect_new(op, &attrs, name)?;
        Ok(attrs.with(name, attribute(value.trim())?))
    })
}

fn attribute(text: &str) -> Result<Attr, String> {
    if text.starts_with('[') {
        let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let inside = inside.ok_or_else(|| format!("'{text}' is not a list"))?;
        let numbers: Result<Vec<i64>, _> = split(inside).map(str::parse).collect();
        return numbers.map(Attr::Ints).map_err(|_| format!("'{text}' is not a list of integers"));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Attr::Int(number));
    }
    if let Some(dtype) = DType::from_name(text) {
        return Ok(Attr::DType(dtype));
    }
    match text.parse::<f64>() {
        Ok(number) => Ok(Attr::Real(number.to_bits())),
        Err(_) => Ok(Attr::Word(text.to_string())),
    }
}
