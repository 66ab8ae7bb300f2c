//! Prints loops as C.

use super::translate as words;
use std::fmt::Write;
use wengert::DType;
use wengert::backend::{Access, Destination, Fold, Instruction, Loop};
use wengert_cuda::source::translate;

/// A loop in C, with the sizes of its operands and outputs in bytes.
#[derive(Clone, PartialEq)]
pub struct Printed {
    pub body: Loop,
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
    /// Whether every operation is bitwise equal to ours.
    pub is_exact: bool,
    text: String,
}

/// The C type of an element, or an error for types that are not printed.
fn c_type(dtype: DType) -> Result<&'static str, String> {
    match dtype {
        DType::F32 => Ok("float"),
        DType::F64 => Ok("double"),
        DType::I64 => Ok("int64_t"),
        DType::Bool => Ok("uint8_t"),
        other => Err(other.to_string()),
    }
}

impl Printed {
    /// The function `loop` with this number. The error names the unsupported operation.
    pub fn new(body: &Loop, number: usize, reads: Vec<usize>, writes: Vec<usize>) -> Result<Printed, String> {
        let (mut text, mut is_exact) = (String::new(), true);
        for (index, instruction) in body.instructions.iter().enumerate() {
            let Instruction::Apply(apply) = instruction else { continue };
            let name = apply.op.name();
            let failed = |word: String| format!("{name}: {word}");
            let expression = apply.op.lowered().expression(&apply.attrs, &apply.dtypes, apply.dtype);
            let expression = expression.ok_or_else(|| failed(format!("no expression for {}", apply.dtype)))?;
            let real = if apply.dtype.is_float() { apply.dtype } else { apply.dtypes[0] };
            let real_type = c_type(real).map_err(failed)?;
            let suffix = if real == DType::F64 { "f64" } else { "f32" };
            let spell = |word: &str| format!("{word}_{suffix}");
            let code = translate(&expression, real_type, &spell).map_err(failed)?;
            let result = c_type(apply.dtype).map_err(failed)?;
            let operands: Result<Vec<String>, String> = expression
                .operands
                .iter()
                .zip(&apply.dtypes)
                .map(|(name, dtype)| Ok(format!("{} {name}", c_type(*dtype)?)))
                .collect();
            let operands = operands.map_err(failed)?.join(", ");
            writeln!(text, "static {result} loop{number}_{index}({operands}) {{ {} }} /* {name} */", code.text)
                .unwrap();
            is_exact &= words::is_exact(&code);
        }
        text += &Writer { body, number, lines: String::new(), in_columns: false }.function()?;
        Ok(Printed { body: body.clone(), reads, writes, is_exact, text })
    }
}

/// A function under construction: rows, with passes over the columns of each. A fold ends a pass, so that the code after it knows the
/// result; values of elements are then stored for the next pass.
struct Writer<'a> {
    body: &'a Loop,
    number: usize,
    lines: String,
    in_columns: bool,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let indent = if self.in_columns { 12 } else { 8 };
        writeln!(self.lines, "{:indent$}{text}", "").unwrap();
    }

    /// Begins or ends a pass over the columns.
    fn walk(&mut self, columns: bool) {
        if columns && !self.in_columns {
            self.line(&format!("for (size_t c = 0, i = r * {0}; c < {0}; c++, i++) {{", self.body.cols));
        }
        if !columns && self.in_columns {
            self.in_columns = false;
            self.line("}");
        }
        self.in_columns = columns;
    }

    /// Whether values of elements are stored in arrays.
    fn keeps(&self) -> bool {
        (0..self.body.operands.len() + self.body.instructions.len()).any(|value| self.body.is_by_rows(value))
    }

    fn value(&self, value: usize) -> String {
        let kept = if self.keeps() && !self.body.is_by_rows(value) { "[c]" } else { "" };
        format!("v{value}{kept}")
    }

    fn assign(&mut self, value: usize, text: &str) -> Result<(), String> {
        let is_kept = self.keeps() && !self.body.is_by_rows(value);
        let dtype = if is_kept { "" } else { c_type(self.body.dtype(value))? };
        self.walk(!self.body.is_by_rows(value));
        let place = self.value(value);
        self.line(&format!("{dtype} {place} = {text};"));
        Ok(())
    }

    fn function(mut self) -> Result<String, String> {
        let body = self.body;
        for (value, access) in body.operands.iter().enumerate().filter(|(_, access)| access.by_rows) {
            self.assign(value, &format!("x{value}[{}]", index(access, "r")))?;
        }
        for (value, access) in body.operands.iter().enumerate().filter(|(_, access)| !access.by_rows) {
            self.assign(value, &format!("x{value}[{}]", index(access, "i")))?;
        }
        for (number, instruction) in body.instructions.iter().enumerate() {
            let value = body.operands.len() + number;
            match instruction {
                Instruction::Apply(apply) => {
                    let inputs: Vec<String> = apply.inputs.iter().map(|&input| self.value(input)).collect();
                    self.assign(value, &format!("loop{}_{number}({})", self.number, inputs.join(", ")))?;
                }
                Instruction::Spread(input) => self.assign(value, &format!("v{input}"))?,
                Instruction::Fold(fold, input) => {
                    // A separate pass, so that the sum is initialised before it.
                    self.walk(false);
                    let dtype = body.dtype(*input);
                    let (sum, first) = match fold {
                        Fold::Sum => (total(dtype), "0"),
                        Fold::Max => (c_type(dtype)?, "-INFINITY"),
                        Fold::Min => (c_type(dtype)?, "INFINITY"),
                    };
                    self.line(&format!("{sum} sum{value} = {first};"));
                    self.walk(true);
                    let x = self.value(*input);
                    self.line(&match fold {
                        Fold::Sum => format!("sum{value} += {x};"),
                        Fold::Max => format!("if ({x} > sum{value} || {x} != {x}) sum{value} = {x};"),
                        Fold::Min => format!("if ({x} < sum{value} || {x} != {x}) sum{value} = {x};"),
                    });
                    self.assign(value, &format!("sum{value}"))?;
                }
            }
        }
        for (number, output) in body.outputs.iter().enumerate() {
            let (x, by_rows) = (self.value(output.value), body.is_by_rows(output.value));
            self.walk(!by_rows);
            self.line(&match output.destination {
                Destination::Each if by_rows => format!("y{number}[r] = {x};"),
                Destination::Each => format!("y{number}[i] = {x};"),
                Destination::Total => format!("total{number} += {x};"),
                Destination::Columns => format!("columns{number}[c] += {x};"),
            });
        }
        self.walk(false);
        self.surround()
    }

    /// Declarations before the rows, and sums after them.
    fn surround(self) -> Result<String, String> {
        let Writer { body, number, .. } = &self;
        let (mut text, mut ends) = (format!("static void loop{number}(void **x, void **y) {{\n"), String::new());
        for (value, access) in body.operands.iter().enumerate() {
            writeln!(text, "    const {0} *x{value} = x[{value}];", c_type(access.dtype)?).unwrap();
        }
        for value in (0..body.operands.len() + body.instructions.len()).filter(|value| !body.is_by_rows(*value)) {
            if self.keeps() {
                writeln!(text, "    static {} v{value}[{}];", c_type(body.dtype(value))?, body.cols).unwrap();
            }
        }
        for (number, output) in body.outputs.iter().enumerate() {
            let (y, sum, cols) = (c_type(output.dtype)?, total(output.dtype), body.cols);
            writeln!(text, "    {y} *y{number} = y[{number}];").unwrap();
            match output.destination {
                Destination::Each => {}
                Destination::Total => {
                    writeln!(text, "    {sum} total{number} = 0;").unwrap();
                    writeln!(ends, "    *y{number} = total{number};").unwrap();
                }
                Destination::Columns => {
                    writeln!(text, "    static {sum} columns{number}[{cols}];").unwrap();
                    writeln!(text, "    memset(columns{number}, 0, sizeof columns{number});").unwrap();
                    writeln!(ends, "    for (size_t c = 0; c < {cols}; c++) y{number}[c] = columns{number}[c];")
                        .unwrap();
                }
            }
        }
        writeln!(text, "    for (size_t r = 0; r < {}; r++) {{", body.rows).unwrap();
        Ok(format!("{text}{}    }}\n{ends}}}\n", self.lines))
    }
}

/// The accumulator type.
fn total(dtype: DType) -> &'static str {
    if dtype.is_float() { "double" } else { "int64_t" }
}

/// The position of the element with this row-major number in the shape of the access.
fn index(access: &Access, number: &str) -> String {
    if access.is_whole() {
        return number.to_string();
    }
    let Access { offset, shape, strides, .. } = access;
    let mut terms = vec![offset.to_string()];
    let mut behind = 1;
    for (size, stride) in shape.iter().zip(strides).rev() {
        if *stride != 0 && *size > 1 {
            terms.push(format!("(ptrdiff_t)({number} / {behind} % {size}) * {stride}"));
        }
        behind *= size;
    }
    terms.join(" + ")
}

/// One program for all loops: it reads the number of a loop and its operands, and writes its outputs, until the input ends.
pub fn program(loops: &[Printed]) -> String {
    let mut text = String::from("#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n");
    text += "#include <stdlib.h>\n#include <string.h>\n";
    text += words::PRELUDE;
    loops.iter().for_each(|printed| text += &printed.text);
    text += "static const struct { void (*run)(void **, void **); size_t reads, writes, lengths[64]; } LOOPS[] = {\n";
    for (number, Printed { reads, writes, .. }) in loops.iter().enumerate() {
        let lengths: Vec<String> = reads.iter().chain(writes).map(usize::to_string).collect();
        writeln!(text, "    {{loop{number}, {}, {}, {{{}}}}},", reads.len(), writes.len(), lengths.join(", ")).unwrap();
    }
    text += r"};
int main(void) {
    uint32_t number;
    while (fread(&number, sizeof number, 1, stdin) == 1) {
        size_t reads = LOOPS[number].reads, all = reads + LOOPS[number].writes;
        void *buffers[64];
        for (size_t i = 0; i < all; i++) {
            size_t length = LOOPS[number].lengths[i];
            buffers[i] = malloc(length + 1);
            if (i < reads && fread(buffers[i], 1, length, stdin) != length) return 1;
        }
        LOOPS[number].run(buffers, buffers + reads);
        for (size_t i = 0; i < all; i++) {
            if (i >= reads) fwrite(buffers[i], 1, LOOPS[number].lengths[i], stdout);
            free(buffers[i]);
        }
        fflush(stdout);
    }
    return 0;
}
";
    text
}
