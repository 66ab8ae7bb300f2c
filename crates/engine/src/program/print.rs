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
        writeln!(f, "program({}) {{", self.typed(&self.inputs))?;
        for (var, tensor) in &self.captures {
            let typed = self.typed(&[*var]);
            match tensor.is_plain() {
                true => writeln!(f, "  const {typed} = {}", numbers(tensor))?,
                false => writeln!(f, "  capture {typed}")?,
            }
        }
        for equation in &self.equations {
            writeln!(f, "  {}", self.equation_text(equation))?;
        }
        writeln!(f, "  return {}\n}}", list(&self.outputs))
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
