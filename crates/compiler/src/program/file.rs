//! The file format of programs.
//!
//! ```text
//! wengert program 1, 178 bytes, fnv1a 1f0a6c0c5ae5a0b1
//! function src/model.rs:12:9
//! input weights.0
//! output
//! program(a: f64[40]) {
//!   const b: f64[40] = data 0
//!   c: f64[40] = mul(a, b)  // src/model.rs:13:5
//!   return c
//! }
//! data 0, 320 bytes
//! AAAAAAAA8D8AAAAAAAAAQA...
//! ```
//!
//! The first line has the version of the format, the number of bytes that follow, and their checksum: 64-bit FNV-1a, which detects every
//! change of one byte. Then follow the line of the function, the tree paths of inputs and outputs in order (empty for a tree that is one
//! tensor; line breaks and backslashes are escaped), the text of the program, whose comments are the user's lines and become the lines of
//! the loaded program, and constants of more than 16 elements: their row-major little-endian bytes in base64. Every number keeps its bits.

use super::print::Style;
use super::{Equation, Program};
use crate::primitive::{Attr, Primitive};
use crate::program::ProgramAttrs;
use crate::program::bodies_of;
use crate::tensor::Value;
use crate::{Error, ErrorKind, location};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The first words of a file.
const MAGIC: &str = "wengert program ";

/// Readers accept only this version. It changes whenever an older reader would misread a file.
const VERSION: u64 = 1;

/// Bytes per line of base64.
const ROW: usize = 57;

/// A program with the names of its inputs and outputs.
#[doc(hidden)]
pub struct File {
    /// The line of the function that was traced.
    pub function: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub program: Program,
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, "load", message)
}

fn line_error(number: usize, message: impl std::fmt::Display) -> Error {
    wrong(format!("line {number}: {message}"))
}

fn first_line(bytes: usize, checksum: u64) -> String {
    format!("{MAGIC}{VERSION}, {bytes} bytes, fnv1a {checksum:016x}")
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

impl File {
    /// The text of the file, verified by reading it back.
    pub fn text(&self) -> Result<String, Error> {
        expect_data(&self.program)?;
        let mut body = String::new();
        let mut data = Vec::new();
        let written = (|| -> std::fmt::Result {
            writeln!(body, "function {}", escaped(&self.function))?;
            self.inputs.iter().try_for_each(|name| writeln!(body, "input {}", escaped(name)))?;
            self.outputs.iter().try_for_each(|name| writeln!(body, "output {}", escaped(name)))?;
            self.program.write_block(&mut body, "program", 0, &mut Style::File { data: &mut data })?;
            body.push('\n');
            for (number, tensor) in data.iter().enumerate() {
                let tensor = tensor.contiguous();
                let bytes = tensor.row_major_bytes();
                writeln!(body, "data {number}, {} bytes", bytes.len())?;
                for row in bytes.chunks(ROW) {
                    encode(row, &mut body);
                    body.push('\n');
                }
            }
            Ok(())
        })();
        written.expect("strings take any text");
        let text = format!("{}\n{body}", first_line(body.len(), checksum(body.as_bytes())));
        let own: Vec<&'static dyn Primitive> = operations(&self.program);
        let again = File::read(text.as_bytes(), &own)?;
        match difference(&self.program, &again.program) {
            None => Ok(text),
            Some(equation) => Err(Error::new(
                ErrorKind::File,
                "save",
                format!("the text of `{}` does not read back", self.program.equation_text(equation)),
            )
            .help("an attribute that is a word must not look like a number or a dtype")),
        }
    }

    /// Reads a file; the program may use the additional primitives in `extra`.
    pub fn read(bytes: &[u8], extra: &[&'static dyn Primitive]) -> Result<File, Error> {
        let body = checked(bytes)?;
        let text =
            std::str::from_utf8(body).map_err(|error| wrong(format!("byte {} is no text", error.valid_up_to())))?;
        let mut file = File { function: String::new(), inputs: vec![], outputs: vec![], program: Program::default() };
        let (mut number, mut rest) = (2, text);
        while !rest.starts_with("program(") {
            let (line, after) = rest.split_once('\n').ok_or_else(|| line_error(number, "there is no program"))?;
            let (word, name) = line.split_once(' ').unwrap_or((line, ""));
            let name =
                unescaped(name).ok_or_else(|| line_error(number, "a backslash stands before n, r or another"))?;
            match word {
                "function" => file.function = name,
                "input" => file.inputs.push(name),
                "output" => file.outputs.push(name),
                _ => return Err(line_error(number, format!("'{word}' is none of function, input, output, program"))),
            }
            (number, rest) = (number + 1, after);
        }
        let (program, kept) = match rest.find("\ndata ") {
            Some(end) => rest.split_at(end + 1),
            None => (rest, ""),
        };
        let data = read_data(kept, number + program.lines().count())?;
        // Blank lines in front, so that errors name lines of the file.
        let program = format!("{}{program}", "\n".repeat(number - 1));
        // Shape rules reject invalid calls; a user-defined rule may panic instead.
        let read = catch_unwind(AssertUnwindSafe(|| Program::read(&program, extra, &data)));
        let read = read.map_err(|_| wrong("a shape rule panicked: an attribute makes no sense"))?;
        file.program = read.map_err(|error| wrong(error.message()).help_of(&error))?;
        let counts = (file.inputs.len(), file.outputs.len());
        if counts != (file.program.inputs.len(), file.program.outputs.len()) {
            let (inputs, outputs) = (file.program.inputs.len(), file.program.outputs.len());
            let names = format!("{} inputs and {} outputs have names", counts.0, counts.1);
            return Err(wrong(format!("{names}, the program has {inputs} and {outputs}")));
        }
        Ok(file)
    }
}

/// The contents after the first line, if they match its length and checksum.
fn checked(bytes: &[u8]) -> Result<&[u8], Error> {
    let foreign = || wrong("this is not a saved program: its first line is different").help("`save` writes such files");
    if bytes.is_empty() {
        return Err(wrong("the file is empty"));
    }
    let after = bytes.strip_prefix(MAGIC.as_bytes()).ok_or_else(foreign)?;
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let version: Option<u64> = std::str::from_utf8(&after[..digits]).ok().and_then(|text| text.parse().ok());
    match version {
        Some(version) if version > VERSION => {
            let message = format!("the file has format {version}, this library reads format {VERSION}");
            return Err(wrong(message).help("read it with a newer version, or save it again"));
        }
        Some(VERSION) => {}
        _ => return Err(foreign()),
    }
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or_else(|| wrong("the file ends within its first line"))?;
    let (first, body) = (&bytes[..end], &bytes[end + 1..]);
    let first = std::str::from_utf8(first).map_err(|_| foreign())?;
    let declared = first.split(", ").nth(1).and_then(|part| part.strip_suffix(" bytes")?.parse::<usize>().ok());
    let declared = declared.ok_or_else(|| wrong("the first line does not tell how many bytes follow"))?;
    if declared != body.len() {
        return Err(wrong(format!("the first line announces {declared} bytes, {} follow", body.len()))
            .help("the file was cut or extended; an editor that adds line breaks does so"));
    }
    let sum = checksum(body);
    if first != first_line(declared, sum) {
        return Err(wrong(format!("the checksum is {sum:016x}, the first line has another: '{first}'"))
            .help("the file was changed after it was written"));
    }
    Ok(body)
}

/// The constants that are stored separately; `number` is that of the first line.
fn read_data(text: &str, mut number: usize) -> Result<Vec<Vec<u8>>, Error> {
    let mut data: Vec<(Vec<u8>, usize)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("data "), data.last_mut()) {
            (Some(rest), _) => {
                let place = format!("{}, ", data.len());
                let length = rest.strip_prefix(&place).and_then(|rest| rest.strip_suffix(" bytes")?.parse().ok());
                let expected = || line_error(number, format!("expected 'data {}, so many bytes'", data.len()));
                let length = length.ok_or_else(expected)?;
                data.push((Vec::new(), length));
            }
            (None, Some((bytes, _))) => decode(line, bytes).ok_or_else(|| line_error(number, "this is not base64"))?,
            (None, None) => return Err(line_error(number, "expected 'data'")),
        }
        number += 1;
    }
    let complete = |(place, (bytes, length)): (usize, (Vec<u8>, usize))| match bytes.len() == length {
        true => Ok(bytes),
        false => Err(wrong(format!("data {place} announces {length} bytes and has {}", bytes.len()))),
    };
    data.into_iter().enumerate().map(complete).collect()
}

/// Escapes text to a single line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> Option<String> {
    let mut letters = text.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            letter => letter,
        });
    }
    Some(plain)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8], text: &mut String) {
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, place| bits << 8 | u32::from(group.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
}

fn decode(line: &str, bytes: &mut Vec<u8>) -> Option<()> {
    for group in line.as_bytes().chunks(4) {
        let digits = group.iter().rposition(|digit| *digit != b'=')? + 1;
        if group.len() != 4 || digits < 2 {
            return None;
        }
        let value = |digit: &u8| DIGITS.iter().position(|known| known == digit);
        let mut bits = 0;
        for digit in &group[..digits] {
            bits = bits << 6 | value(digit)? as u32;
        }
        bits <<= 6 * (4 - digits);
        bytes.extend_from_slice(&bits.to_be_bytes()[1..digits]);
    }
    Some(())
}

/// Checks that everything in a program can be written: no functions of this process, no tensors of a running transform.
fn expect_data(program: &Program) -> Result<(), Error> {
    if let Some((var, _)) = program.captures.iter().find(|(_, tensor)| matches!(tensor.value, Value::Tracer(_))) {
        let message = format!("{var}: {} is a tensor of a transform that is still running", program.spec(*var));
        return Err(
            Error::new(ErrorKind::File, "save", message).help("save outside of the transform, or make it an input")
        );
    }
    for equation in &program.equations {
        for (_, attr) in equation.attrs.iter() {
            if let Attr::Other(function) = attr
                && bodies_of(attr).is_none()
                && !function.is_text()
            {
                let message =
                    format!("the function '{function:?}' has rules of its own, which are Rust code of this process");
                let error = Error::new(ErrorKind::File, "save", message)
                    .help("save the parts around it, or write its rule as a primitive and load with `load_with`");
                return Err(equation.line.map(location::shown).into_iter().fold(error, Error::at));
            }
        }
        equation.attrs.bodies().try_for_each(|(_, body)| expect_data(body))?;
    }
    Ok(())
}

/// Every primitive that a program uses.
fn operations(program: &Program) -> Vec<&'static dyn Primitive> {
    let bodies = program.equations.iter().flat_map(|equation| equation.attrs.bodies());
    let inner = bodies.flat_map(|(_, body)| operations(body));
    program.equations.iter().map(|equation| equation.op).chain(inner).collect()
}

/// The first equation of `a` that differs in `b`.
fn difference<'a>(a: &'a Program, b: &Program) -> Option<&'a Equation> {
    let same = |(a, b): (&(&'static str, Attr), &(&'static str, Attr))| match (bodies_of(&a.1), bodies_of(&b.1)) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| difference(a, b).is_none()),
        _ => a == b,
    };
    let differs = |(a, b): &(&Equation, &Equation)| {
        (a.op.name(), &a.inputs, &a.outputs) != (b.op.name(), &b.inputs, &b.outputs)
            || a.attrs.iter().count() != b.attrs.iter().count()
            || !a.attrs.iter().zip(b.attrs.iter()).all(same)
    };
    a.equations.iter().zip(&b.equations).find(differs).map(|(equation, _)| equation)
}
