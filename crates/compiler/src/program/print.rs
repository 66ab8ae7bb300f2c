//! Prints the text of a program.
//!
//! ```text
//! program(a: f64[2]) {
//!   const b: f64[] = 2.0
//!   c: f64[2] = broadcast[shape=[2]](b)
//!   d: f64[2] = mul(a, c)
//!   return d
//! }
//! ```
//!
//! A program that an operation runs is printed after its operands, under the name of the attribute, with its own variables:
//!
//! ```text
//!   c: f64[], d: f64[3] = scan[consts=0, carry=1, length=3, reverse=0](a, b) body(a: f64[], b: f64[]) {
//!     c: f64[] = mul(a, b)
//!     return c, a
//!   }
//! ```

use super::{Equation, Program, Var};
use crate::Tensor;
use crate::location;
use crate::program::ProgramAttrs;
use std::fmt;
use wengert_kernels::DType;
use wengert_kernels::dtype::{bf16, f16};

/// Constants with more elements than this are stored separately in a file.
const MOST_WRITTEN: usize = 16;

/// How a program is printed: as plain text, or for a file, where long constants are stored separately and equations have their lines.
pub(super) enum Style<'a> {
    Text,
    File { data: &'a mut Vec<Tensor> },
}

impl Style<'_> {
    /// The text of a captured tensor.
    fn capture(&mut self, typed: &str, tensor: &Tensor) -> String {
        let note = if tensor.is_plain() { "" } else { "  // required gradients" };
        match self {
            Style::Text if !tensor.is_plain() => format!("capture {typed}"),
            Style::File { data } if tensor.elements() > MOST_WRITTEN => {
                data.push(tensor.plain());
                format!("const {typed} = data {}{note}", data.len() - 1)
            }
            _ => format!("const {typed} = {}{note}", numbers(&tensor.plain())),
        }
    }

    /// The text after an equation.
    fn note(&self, equation: &Equation) -> String {
        match (self, equation.line.map(location::shown)) {
            (Style::File { .. }, Some(line)) => format!("  // {}", line.to_string().replace(['\n', '\r'], " ")),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Var {
    /// a, b, .. z, aa, ab, ..
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut number, mut letters) = (self.0 as usize, Vec::new());
        loop {
            letters.push(char::from(b'a' + (number % 26) as u8));
            if number < 26 {
                break;
            }
            number = number / 26 - 1;
        }
        f.write_str(&letters.iter().rev().collect::<String>())
    }
}

fn list(vars: &[Var]) -> String {
    vars.iter().map(Var::to_string).collect::<Vec<_>>().join(", ")
}

impl Program {
    /// `name(inputs) {`, the lines, and the closing brace, indented by `depth` levels; the first line continues another.
    pub(super) fn write_block(
        &self,
        f: &mut dyn fmt::Write,
        name: &str,
        depth: usize,
        style: &mut Style<'_>,
    ) -> fmt::Result {
        let indent = "  ".repeat(depth);
        writeln!(f, "{name}({}) {{", self.typed(&self.inputs))?;
        for (var, tensor) in &self.captures {
            writeln!(f, "{indent}  {}", style.capture(&self.typed(&[*var]), tensor))?;
        }
        for equation in &self.equations {
            write!(f, "{indent}  {}", self.equation_text(equation))?;
            for (name, body) in equation.attrs.bodies() {
                f.write_str(" ")?;
                body.write_block(f, name, depth + 1, style)?;
            }
            writeln!(f, "{}", style.note(equation))?;
        }
        let outputs = list(&self.outputs);
        let space = if outputs.is_empty() { "" } else { " " };
        write!(f, "{indent}  return{space}{outputs}\n{indent}}}")
    }

    fn typed(&self, vars: &[Var]) -> String {
        vars.iter().map(|var| format!("{var}: {}", self.spec(*var))).collect::<Vec<_>>().join(", ")
    }

    /// `c: f64[] = mul(a, b)`, without the programs in its attributes.
    #[doc(hidden)]
    pub fn equation_text(&self, equation: &Equation) -> String {
        let (outputs, inputs) = (self.typed(&equation.outputs), list(&equation.inputs));
        format!("{outputs} = {}{}({inputs})", equation.op.name(), equation.attrs)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_block(f, "program", 0, &mut Style::Text)?;
        writeln!(f)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Row-major numbers that read back exactly. NaNs are printed by their bits, except the canonical one.
fn numbers(tensor: &Tensor) -> String {
    let real = |(number, bits, usual): (f64, u64, u64)| match number.is_nan() && bits != usual {
        true => format!("{bits:#x}"),
        false => format!("{number:?}"),
    };
    let texts: Vec<String> = match tensor.dtype() {
        DType::I64 => tensor.to_vec::<i64>().iter().map(i64::to_string).collect(),
        DType::F64 => tensor.to_vec::<f64>().iter().map(|x| real((*x, x.to_bits(), f64::NAN.to_bits()))).collect(),
        DType::F32 => {
            let all = tensor.to_vec::<f32>();
            all.iter().map(|x| real((f64::from(*x), x.to_bits().into(), f32::NAN.to_bits().into()))).collect()
        }
        DType::F16 => {
            let all = tensor.to_vec::<f16>();
            all.iter().map(|x| real((x.to_f64(), x.to_bits().into(), f16::NAN.to_bits().into()))).collect()
        }
        DType::BF16 => {
            let all = tensor.to_vec::<bf16>();
            all.iter().map(|x| real((x.to_f64(), x.to_bits().into(), bf16::NAN.to_bits().into()))).collect()
        }
        _ => tensor.to_f64_vec().iter().map(|x| format!("{x}")).collect(),
    };
    texts.join(" ")
}
