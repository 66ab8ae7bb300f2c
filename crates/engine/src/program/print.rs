//! The text of a program.
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
//! A program that an operation runs stands after its operands, under the attribute's name, with variables of its own:
//!
//! ```text
//!   c: f64[], d: f64[3] = scan[consts=0, carry=1, length=3, reverse=0](a, b) body(a: f64[], b: f64[]) {
//!     c: f64[] = mul(a, b)
//!     return c, a
//!   }
//! ```

use super::{Equation, Program, Var};
use std::fmt;
use wengert_kernels::DType;

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
    fn write_block(&self, f: &mut fmt::Formatter<'_>, name: &str, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        writeln!(f, "{name}({}) {{", self.typed(&self.inputs))?;
        for (var, tensor) in &self.captures {
            let typed = self.typed(&[*var]);
            match tensor.is_plain() {
                true => writeln!(f, "{indent}  const {typed} = {}", numbers(tensor))?,
                false => writeln!(f, "{indent}  capture {typed}")?,
            }
        }
        for equation in &self.equations {
            let (outputs, inputs) = (self.typed(&equation.outputs), list(&equation.inputs));
            write!(f, "{indent}  {outputs} = {}{}({inputs})", equation.op.name(), equation.attrs)?;
            for (name, body) in equation.attrs.bodies() {
                f.write_str(" ")?;
                body.write_block(f, name, depth + 1)?;
            }
            writeln!(f)?;
        }
        let outputs = list(&self.outputs);
        let space = if outputs.is_empty() { "" } else { " " };
        write!(f, "{indent}  return{space}{outputs}\n{indent}}}")
    }

    fn typed(&self, vars: &[Var]) -> String {
        vars.iter().map(|var| format!("{var}: {}", self.spec(*var))).collect::<Vec<_>>().join(", ")
    }

    /// `c: f64[] = mul(a, b)`
    pub(super) fn equation_text(&self, equation: &Equation) -> String {
        let (outputs, inputs) = (self.typed(&equation.outputs), list(&equation.inputs));
        format!("{outputs} = {}{}({inputs})", equation.op.name(), equation.attrs)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_block(f, "program", 0)?;
        writeln!(f)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Row-major numbers that read back exactly.
fn numbers(tensor: &crate::Tensor) -> String {
    let texts: Vec<String> = match tensor.dtype() {
        DType::I64 => tensor.to_vec::<i64>().iter().map(i64::to_string).collect(),
        dtype if dtype.is_float() => tensor.to_f64_vec().iter().map(|x| format!("{x:?}")).collect(),
        _ => tensor.to_f64_vec().iter().map(|x| format!("{x}")).collect(),
    };
    texts.join(" ")
}
