//! Fused loops as data: the output of `lower`, from which backends generate code.

use crate::DType;
use crate::primitive::{Attrs, Primitive};
use smallvec::SmallVec;
use std::fmt;
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::{Access, Destination, Fold, Output};

/// A loop over `rows` x `cols` elements in row-major order. Values are numbered: operands first, then instructions in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The number of rows.
    pub rows: usize,
    /// The number of elements per row.
    pub cols: usize,
    /// The operands to read.
    pub operands: Vec<Access>,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The outputs to write.
    pub outputs: Vec<Output>,
}

/// One instruction of a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Instruction {
    /// An elementwise operation, on every element or on one value per row.
    Apply(Apply),
    /// Broadcasts one value per row along the row.
    Spread(usize),
    /// Reduces each row to one value.
    Fold(Fold, usize),
}

/// A call of an elementwise operation.
#[derive(Clone, Debug)]
pub struct Apply {
    /// The operation.
    pub op: &'static dyn Primitive,
    /// Its attributes.
    pub attrs: Attrs,
    /// The values that it reads, either all per element or all per row.
    pub inputs: SmallVec<[usize; 4]>,
    /// The dtypes of its operands.
    pub dtypes: SmallVec<[DType; 3]>,
    /// The dtype of its result.
    pub dtype: DType,
}

impl PartialEq for Apply {
    fn eq(&self, other: &Apply) -> bool {
        // Operations without fields may share an address, so compare names too.
        std::ptr::addr_eq(self.op, other.op)
            && self.op.name() == other.op.name()
            && (&self.attrs, &self.inputs, &self.dtypes) == (&other.attrs, &other.inputs, &other.dtypes)
            && self.dtype == other.dtype
    }
}

/// A loop with its bytes in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedLoop {
    /// The loop itself.
    pub body: Loop,
    /// The bytes of each operand.
    pub reads: Vec<Span>,
    /// The bytes of each output.
    pub writes: Vec<Span>,
    /// The variable of the program that each output is, by its number.
    pub variables: Vec<usize>,
    /// The equations of the program that it computes.
    pub equations: Vec<usize>,
}

impl Instruction {
    /// The values that it reads.
    pub fn inputs(&self) -> &[usize] {
        match self {
            Instruction::Apply(apply) => &apply.inputs,
            Instruction::Spread(input) | Instruction::Fold(_, input) => std::slice::from_ref(input),
        }
    }
}

impl Loop {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.rows * self.cols
    }

    /// The instruction that computes a value; `None` for operands.
    pub fn instruction(&self, value: usize) -> Option<&Instruction> {
        value.checked_sub(self.operands.len()).map(|number| &self.instructions[number])
    }

    /// Whether a value has one element per row.
    pub fn is_by_rows(&self, value: usize) -> bool {
        let mut value = value;
        loop {
            match self.instruction(value) {
                None => return self.operands[value].by_rows,
                Some(Instruction::Spread(_)) => return false,
                Some(Instruction::Fold(..)) => return true,
                Some(Instruction::Apply(apply)) => value = apply.inputs[0],
            }
        }
    }

    /// The dtype of a value, as it would be stored in memory.
    pub fn dtype(&self, value: usize) -> DType {
        let mut value = value;
        loop {
            match self.instruction(value) {
                None => return self.operands[value].dtype,
                Some(Instruction::Apply(apply)) => return apply.dtype,
                Some(Instruction::Spread(input) | Instruction::Fold(_, input)) => value = *input,
            }
        }
    }

    /// Whether an output has one value per element.
    pub fn writes_elements(&self, output: usize) -> bool {
        let output = &self.outputs[output];
        output.destination == Destination::Each && !self.is_by_rows(output.value)
    }
}

/// ```text
/// loop over 2 x 3
///   0: f32 [2, 3] by [3, 1]
///   1: f32 [2, 3] by [0, 1]
///   2: f32 = mul(0, 1)
///   3: fold Sum(2)
///   write 3 as f32, each
/// ```
impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "loop over {} x {}", self.rows, self.cols)?;
        for (number, Access { dtype, offset, shape, strides, by_rows }) in self.operands.iter().enumerate() {
            write!(f, "  {number}: {dtype} {shape:?} by {strides:?}")?;
            let from = if *offset == 0 { String::new() } else { format!(" from {offset}") };
            writeln!(f, "{from}{}", if *by_rows { ", for each row" } else { "" })?;
        }
        for (number, instruction) in self.instructions.iter().enumerate() {
            let number = self.operands.len() + number;
            match instruction {
                Instruction::Apply(Apply { op, attrs, inputs, dtype, .. }) => {
                    let inputs: Vec<String> = inputs.iter().map(usize::to_string).collect();
                    writeln!(f, "  {number}: {dtype} = {}{attrs}({})", op.name(), inputs.join(", "))?;
                }
                Instruction::Spread(input) => writeln!(f, "  {number}: spread({input})")?,
                Instruction::Fold(fold, input) => writeln!(f, "  {number}: fold {fold:?}({input})")?,
            }
        }
        for Output { value, destination, dtype, in_place } in &self.outputs {
            let destination = format!("{destination:?}").to_lowercase();
            writeln!(f, "  write {value} as {dtype}, {destination}{}", if *in_place { ", in place" } else { "" })?;
        }
        Ok(())
    }
}
