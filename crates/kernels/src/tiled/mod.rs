//! A tiled register machine: chains of elementwise operations, row reductions and sums in one pass over memory.
//!
//! The iteration space of a loop is `rows` x `cols` elements in row-major order, processed in tiles that stay in the nearest cache. An
//! instruction is a vectorised loop over registers, which are tiles. Operands with a suitable layout are read in place, and results are
//! written in place unless they are read again. A loop that reduces rows has whole rows in every tile, so that the result can be broadcast
//! along the row again: a softmax is one pass. Tiles and tasks depend only on sizes, so the bits do not depend on the number of threads.

mod fold;
mod follow;
mod group;
mod run;

pub use fold::Fold;
pub use follow::Followed;
pub use group::Loops;

use crate::dtype::DType;
use crate::view::{Layout, collapse};
use smallvec::SmallVec;
use std::sync::Arc;

/// A vectorised loop: it reads its inputs, all of one length, and writes its output. Registers hold bytes of the type that [`held`]
/// returns.
pub type Lane = Arc<dyn Fn(&[&[u8]], &mut [u8]) + Send + Sync>;

/// The type that elements of `dtype` have in registers: the compute type, or bytes for masks.
///
/// ```
/// use wengert_kernels::{DType, tiled::held};
/// assert_eq!((held(DType::BF16), held(DType::I32), held(DType::Bool)), (DType::F32, DType::I64, DType::Bool));
/// ```
pub fn held(dtype: DType) -> DType {
    if dtype == DType::Bool { DType::Bool } else { dtype.compute() }
}

/// An operand of a loop: strided elements of the whole iteration space in row-major order. Broadcast axes have stride 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The type in memory.
    pub dtype: DType,
    /// The offset in elements from the start of the span.
    pub offset: isize,
    /// The sizes of the axes; their product is the size of the space, or its number of rows if it is read by rows.
    pub shape: SmallVec<[usize; 4]>,
    /// The step along each axis.
    pub strides: SmallVec<[isize; 4]>,
    /// Whether there is one element for each row.
    pub by_rows: bool,
}

impl Access {
    /// Whether the operand is its whole span, contiguous from the start and of the register type, so that results may be written over it.
    ///
    /// ```
    /// use wengert_kernels::{DType, tiled::Access};
    /// let (shape, strides) = ([2, 3].into_iter().collect(), [3, 1].into_iter().collect());
    /// let access = Access { dtype: DType::F32, offset: 0, shape, strides, by_rows: false };
    /// assert!(access.is_whole() && !Access { offset: 1, ..access }.is_whole());
    /// ```
    pub fn is_whole(&self) -> bool {
        let layout = collapse(&self.shape, &self.strides);
        let is_contiguous = matches!((&layout.shape[..], &layout.strides[..]), ([], _) | ([_], [1]));
        self.offset == 0 && is_contiguous && held(self.dtype) == self.dtype
    }
}

/// One instruction. Values are numbered: operands first, then instructions in order.
pub enum Instruction {
    /// An elementwise operation, on whole tiles or on one number per row.
    Lane {
        /// The loop.
        lane: Lane,
        /// The values that it reads, all by elements or all by rows.
        inputs: SmallVec<[usize; 4]>,
        /// The dtype of its result in memory; registers hold [`held`] of it.
        dtype: DType,
    },
    /// Broadcasts one number per row along the row.
    Spread(usize),
    /// Reduces each row to one number.
    Fold(Fold, usize),
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Every element, or one number per row, in order.
    Each,
    /// The sum of all elements.
    Total,
    /// The sum over all rows, one number for each column.
    Columns,
}

/// An output of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The number of the value.
    pub value: usize,
    /// How it is written.
    pub destination: Destination,
    /// The type in memory.
    pub dtype: DType,
    /// Whether it may be written over an operand.
    pub in_place: bool,
}

/// A compiled loop.
pub struct Tiled {
    rows: usize,
    cols: usize,
    operands: Vec<Operand>,
    steps: Vec<Step>,
    outputs: Vec<Output>,
    /// The properties of every value.
    values: Vec<Value>,
    /// The number of registers in use, and the elements of each.
    registers: usize,
    tile: usize,
    /// Whether tiles hold whole rows.
    by_rows: bool,
}

struct Operand {
    dtype: DType,
    offset: isize,
    elements: usize,
    kind: Reading,
}

enum Reading {
    /// Contiguous and of the register type: read in place.
    Direct,
    /// Loaded into a register.
    Loaded(Layout),
    /// Loaded into a register, with the same contents for every tile.
    Periodic(Layout),
}

struct Step {
    instruction: Instruction,
    /// The output that the instruction writes directly.
    direct: Option<usize>,
}

/// The properties of a value.
#[derive(Clone, Copy)]
struct Value {
    dtype: DType,
    by_rows: bool,
    register: Option<usize>,
    /// The size of an element in a register, as a power of two.
    shift: u32,
}

impl Value {
    fn new(dtype: DType, by_rows: bool) -> Value {
        Value { dtype, by_rows, register: None, shift: held(dtype).size().trailing_zeros() }
    }
}

/// The bytes of all registers that still leave room for operands in the nearest cache.
const CACHE: usize = 28 * 1024;
const SHORTEST: usize = 256;
const LONGEST: usize = 1024;

/// The longest row that is reduced in one tile.
pub const LONGEST_ROW: usize = 8192;

impl Tiled {
    /// A loop over `rows` x `cols` elements. Rows and columns only matter to folds and to outputs of rows and columns.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wengert_kernels::{DType, memory::{Memory, Regions, Span}, tiled::{Access, Instruction, Loops, Output, Destination, Tiled}};
    /// let square = Instruction::Lane {
    ///     lane: Arc::new(|x, out| {
    ///         let (x, out): (&[f32], &mut [f32]) = (bytemuck::cast_slice(x[0]), bytemuck::cast_slice_mut(out));
    ///         for (out, x) in out.iter_mut().zip(x) { *out = x * x; }
    ///     }),
    ///     inputs: [0].into_iter().collect(),
    ///     dtype: DType::F32,
    /// };
    /// let x = Access { dtype: DType::F32, offset: 0, shape: [3].into_iter().collect(), strides: [1].into_iter().collect(), by_rows: false };
    /// let total = Output { value: 1, destination: Destination::Total, dtype: DType::F32, in_place: false };
    /// let tiled = Tiled::new(1, 3, vec![x], vec![square], vec![total]);
    /// let (reads, writes) = (Span { region: 0, start: 0, length: 12 }, Span { region: 1, start: 0, length: 4 });
    /// let loops = Loops::new(vec![(Box::new(tiled), vec![reads], vec![writes])]);
    /// let (input, mut sum, mut regions) = ([1f32, 2.0, 3.0], [0f32], Regions::default());
    /// let mut memory = Memory::new(&mut regions);
    /// memory.read(bytemuck::bytes_of(&input));
    /// memory.write(bytemuck::bytes_of_mut(&mut sum));
    /// loops.run(&mut memory);
    /// drop(memory);
    /// assert_eq!(sum, [14.0]);
    /// ```
    pub fn new(
        rows: usize,
        cols: usize,
        operands: Vec<Access>,
        instructions: Vec<Instruction>,
        outputs: Vec<Output>,
    ) -> Tiled {
        // So no size below overflows.
        let bytes =
            rows.max(1).checked_mul(cols.max(1)).and_then(|elements| elements.checked_mul(size_of::<fold::Sum>()));
        assert!(bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()), "tiled: a space of {rows} rows of {cols}");
        let mut values: Vec<Value> =
            operands.iter().map(|operand| Value::new(operand.dtype, operand.by_rows)).collect();
        for instruction in &instructions {
            values.push(instruction.value(&values));
        }
        let mut operands: Vec<Operand> = operands.into_iter().map(|access| Operand::new(access, rows, cols)).collect();
        let has_rows =
            values.iter().any(|value| value.by_rows) || outputs.iter().any(|o| o.destination == Destination::Columns);
        // With tiles of whole rows, broadcast rows can stay in their registers.
        let by_rows = has_rows || (cols <= LONGEST && operands.iter().any(Operand::repeats_rows));
        if !by_rows {
            operands.iter_mut().for_each(Operand::load_always);
        }
        let steps = instructions.into_iter().map(|instruction| Step { instruction, direct: None }).collect();
        let mut tiled = Tiled { rows, cols, operands, steps, outputs, values, registers: 0, tile: 0, by_rows };
        tiled.allocate();
        tiled
    }

    /// Whether an operand is read sequentially, as its whole span from the start.
    pub fn reads_whole(&self, operand: usize) -> bool {
        let operand = &self.operands[operand];
        matches!(operand.kind, Reading::Direct) && operand.offset == 0
    }

    /// The elements of the space.
    pub fn elements(&self) -> usize {
        self.rows * self.cols
    }

    /// Assigns registers to values, reuses those of values that are no longer read, and chooses the tile size.
    fn allocate(&mut self) {
        let mut last_read = vec![0; self.values.len()];
        for (number, step) in self.steps.iter().enumerate() {
            step.instruction.inputs().for_each(|value| last_read[value] = number);
        }
        // Outputs are read at the end of the tile, unless an instruction writes them directly.
        for (number, output) in self.outputs.iter().enumerate() {
            let step = output.value.checked_sub(self.operands.len());
            let is_plain =
                output.destination == Destination::Each && held(output.dtype) == output.dtype && !output.in_place;
            let is_only = !self.outputs[..number].iter().any(|other| other.value == output.value);
            match step {
                Some(step) if is_plain && is_only => self.steps[step].direct = Some(number),
                _ => last_read[output.value] = usize::MAX,
            }
        }
        let (mut free, mut ends): (Vec<usize>, Vec<Vec<usize>>) = (Vec::new(), vec![Vec::new(); self.steps.len()]);
        let take = |registers: &mut usize, free: &mut Vec<usize>| {
            free.pop().unwrap_or_else(|| {
                *registers += 1;
                *registers - 1
            })
        };
        let mut registers = 0;
        for (value, operand) in self.operands.iter().enumerate() {
            match operand.kind {
                Reading::Direct => {}
                // Operands are loaded at the start of a tile; those that are the same for all tiles stay.
                Reading::Periodic(_) => self.values[value].register = Some(take(&mut registers, &mut free)),
                Reading::Loaded(_) => {
                    self.values[value].register = Some(take(&mut registers, &mut free));
                    if let Some(ends) = ends.get_mut(last_read[value]) {
                        ends.push(value);
                    }
                }
            }
        }
        for number in 0..self.steps.len() {
            let value = self.operands.len() + number;
            if self.steps[number].direct.is_none() {
                self.values[value].register = Some(take(&mut registers, &mut free));
                if let Some(ends) = ends.get_mut(last_read[value].max(number)) {
                    ends.push(value);
                }
            }
            // An instruction never writes a register that it reads.
            free.extend(ends[number].iter().filter_map(|&value| self.values[value].register));
        }
        self.registers = registers;
        let fit = (CACHE / (self.width() * registers.max(1))).clamp(SHORTEST, LONGEST) / 64 * 64;
        self.tile = match self.by_rows {
            true => (fit / self.cols.max(1)).max(1) * self.cols,
            false => fit,
        };
    }

    /// The bytes of the widest element in registers.
    fn width(&self) -> usize {
        self.values.iter().map(|value| held(value.dtype).size()).max().unwrap_or(1)
    }
}

impl Operand {
    fn new(access: Access, rows: usize, cols: usize) -> Operand {
        let Access { dtype, offset, shape, strides, by_rows } = access;
        let length = shape.iter().fold(1usize, |all, &size| all.saturating_mul(size));
        let expected = if by_rows { rows } else { rows * cols };
        assert_eq!(length, expected, "tiled: an operand of shape {shape:?} for {expected} elements");
        let layout = collapse(&shape, &strides);
        let kind = match (&layout.shape[..], &layout.strides[..]) {
            ([], _) | ([_], [1]) if held(dtype) == dtype => Reading::Direct,
            ([], _) => Reading::Loaded(Layout { shape: [1].into_iter().collect(), strides: [0].into_iter().collect() }),
            ([_], [0]) => Reading::Periodic(layout),
            ([_, period], [0, _]) if *period == cols && !by_rows => Reading::Periodic(layout),
            _ => Reading::Loaded(layout),
        };
        Operand { dtype, offset, elements: length, kind }
    }

    fn repeats_rows(&self) -> bool {
        matches!(&self.kind, Reading::Periodic(layout) if layout.rank() == 2)
    }

    fn load_always(&mut self) {
        if self.repeats_rows()
            && let Reading::Periodic(layout) = &mut self.kind
        {
            self.kind = Reading::Loaded(std::mem::take(layout));
        }
    }
}

impl Instruction {
    fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        let (many, one) = match self {
            Instruction::Lane { inputs, .. } => (&inputs[..], None),
            Instruction::Spread(input) | Instruction::Fold(_, input) => (&[][..], Some(*input)),
        };
        many.iter().copied().chain(one)
    }

    fn value(&self, values: &[Value]) -> Value {
        let known = |input: usize| values.get(input).expect("tiled: an instruction reads what comes later");
        match self {
            Instruction::Lane { inputs, dtype, .. } => {
                let by_rows = known(inputs[0]).by_rows;
                assert!(inputs.iter().all(|&input| known(input).by_rows == by_rows), "tiled: rows and elements mixed");
                Value::new(*dtype, by_rows)
            }
            Instruction::Spread(input) => {
                assert!(known(*input).by_rows, "tiled: elements spread");
                Value::new(known(*input).dtype, false)
            }
            Instruction::Fold(_, input) => {
                assert!(!known(*input).by_rows, "tiled: rows folded twice");
                Value::new(known(*input).dtype, true)
            }
        }
    }
}

#[cfg(test)]
mod tests;
