//! Fused loops as kernels.
//!
//! A loop has one of three forms. `Flat`: every thread takes groups of elements in order. `Columns`: threads stand side by side along a row
//! and walk down their columns, whose sums they keep. `Rows`: a warp or a block takes whole rows, whose folds all of its threads know.

use super::elements::{Reading, functions, index, pointers, reading};
use super::{held, summed};
use crate::launch::Shape;
use std::fmt::Write;
use wengert_compiler::plan::{Instruction, Loop, PlacedLoop};
use wengert_core::DType;
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::{Access, Destination, Fold, Output};

/// The most blocks of a loop: several for every processor of a large device. Sums have as many parts, so that their order is the same
/// everywhere.
const MOST_BLOCKS: usize = 1056;

/// The threads of a block.
const THREADS: usize = 256;

/// How a loop becomes threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// Groups of elements in order.
    Flat,
    /// Columns of groups of elements: how many side by side in a block, and in how many parts rows are split.
    Columns {
        /// Groups side by side.
        across: usize,
        /// Parts of the rows.
        parts: usize,
    },
    /// Rows: how many threads share one, how many a block takes at a time, and how many blocks there are.
    Rows {
        /// Threads of a row.
        threads: usize,
        /// Rows at a time.
        together: usize,
        /// Blocks.
        parts: usize,
    },
}

/// Sums that are finished by another kernel: their parts, one behind the other, are `columns` numbers each.
pub struct Sums {
    /// The number of the output.
    pub output: usize,
    /// How many parts there are.
    pub parts: usize,
    /// The numbers of a part.
    pub columns: usize,
    /// The type of the result.
    pub dtype: DType,
}

/// A loop as text.
pub struct Printed {
    /// The struct `Loop` of its arguments, and the function `run` for the threads of a block.
    pub text: String,
    /// Blocks and threads.
    pub shape: Shape,
    /// Sums in parts.
    pub sums: Vec<Sums>,
    /// Whether it is an entry of a launch that takes `COUNT` loops of the same text.
    pub entry: bool,
}

impl Printed {
    /// Prints a loop. `is_aligned` says whether an operand or output begins at a multiple of 16 bytes, operands first. Where one block runs
    /// `alone`, sums have one part.
    pub fn new(body: &Loop, is_aligned: &dyn Fn(usize) -> bool, alone: bool) -> Result<Printed, String> {
        let form = form(body, alone);
        let width = width(body, form, is_aligned);
        let mut writer = Writer { body, form, width, text: String::new(), indent: 4 };
        let functions = functions(body)?;
        writer.print();
        let (shape, parts) = match form {
            Form::Flat => {
                let most = if alone { 1 } else { MOST_BLOCKS };
                let blocks = body.elements().div_ceil(THREADS * width).clamp(1, most);
                (Shape::line(blocks, THREADS), blocks)
            }
            Form::Columns { across, parts } => {
                let tiles = body.cols.div_ceil(across * width);
                (
                    Shape {
                        grid: [tiles as u32, parts as u32, 1],
                        block: [THREADS as u32, 1, 1],
                        shared: 0,
                        cluster: 1,
                    },
                    parts,
                )
            }
            Form::Rows { threads, together, parts } => (Shape::line(parts, threads * together), parts),
        };
        let total_parts = shape.grid.iter().product::<u32>() as usize;
        let sums = body.outputs.iter().enumerate().filter_map(|(output, it)| match it.destination {
            Destination::Each => None,
            Destination::Total => Some(Sums { output, parts: total_parts, columns: 1, dtype: it.dtype }),
            Destination::Columns => Some(Sums { output, parts, columns: body.cols, dtype: it.dtype }),
        });
        let sums: Vec<Sums> = sums.filter(|sums| sums.parts > 1).collect();
        let entry = form == Form::Flat && !alone && body.outputs.iter().all(|it| it.destination == Destination::Each);
        Ok(Printed { text: format!("{functions}{}", writer.text), shape, sums, entry })
    }
}

/// A loop that adds the rows of a matrix. Every loop of this shape adds them in the same order, whatever else it computes, so plans that
/// divide the same work in other ways give the same bits.
pub fn rows_added(rows: usize, cols: usize, (from, dtype): (Span, DType), to: Span) -> PlacedLoop {
    let shape = [rows, cols].into_iter().collect();
    let strides = [cols as isize, 1].into_iter().collect();
    let access = Access { dtype, offset: 0, shape, strides, by_rows: false };
    let output = Output { value: 0, destination: Destination::Columns, dtype, in_place: false };
    let body = Loop { rows, cols, operands: vec![access], instructions: Vec::new(), outputs: vec![output] };
    PlacedLoop { body, reads: vec![from], writes: vec![to], variables: Vec::new(), equations: Vec::new() }
}

/// Whether an instruction converts f32 to bf16.
pub fn narrows(instruction: &Instruction) -> bool {
    let Instruction::Apply(apply) = instruction else { return false };
    apply.op.name() == "cast" && (apply.dtypes[0], apply.dtype) == (DType::F32, DType::BF16)
}

/// The entry of a kernel that runs one loop, or `COUNT` loops of the same text, one behind the other.
pub fn entry(printed: &Printed) -> String {
    let threads = printed.shape.block[0];
    match printed.entry {
        true => format!(
            "struct Loops {{ Loop each[COUNT]; }};\nKERNEL({threads}) loop(const __grid_constant__ Loops loops) {{\n    \
             i64 block = blockIdx.x;\n    int number = 0;\n    \
             while (block >= loops.each[number].blocks) block -= loops.each[number++].blocks;\n    \
             run(loops.each[number], block, 0);\n}}\n"
        ),
        false => {
            format!("KERNEL({threads}) loop(const __grid_constant__ Loop at) {{ run(at, blockIdx.x, blockIdx.y); }}\n")
        }
    }
}

/// The least and the greatest element of a dtype.
fn bounds(dtype: DType) -> [&'static str; 2] {
    match dtype {
        DType::I64 => ["(-9223372036854775807ll - 1)", "9223372036854775807ll"],
        DType::I32 => ["(-2147483647 - 1)", "2147483647"],
        DType::U8 | DType::Bool => ["0", "255"],
        _ => ["-INFINITY", "INFINITY"],
    }
}

/// How a loop becomes threads.
fn form(body: &Loop, alone: bool) -> Form {
    let (rows, cols) = (body.rows, body.cols);
    let has_columns = body.outputs.iter().any(|output| output.destination == Destination::Columns);
    if body.instructions.iter().any(|instruction| matches!(instruction, Instruction::Fold(..))) {
        let threads = match cols {
            0..=1024 => 32,
            1025..=4096 => 256,
            _ => 1024,
        };
        // Sums of columns are kept by the threads of one row.
        let together = if threads == 32 && !has_columns { 8 } else { 1 };
        let most = if alone { 1 } else { MOST_BLOCKS };
        return Form::Rows { threads, together, parts: rows.div_ceil(together).clamp(1, most) };
    }
    if !has_columns {
        return Form::Flat;
    }
    let groups = if cols.is_multiple_of(4) { cols / 4 } else { cols };
    let across = groups.next_power_of_two().clamp(8, 32);
    let tiles = groups.div_ceil(across);
    // Every thread adds some rows before parts are added to each other.
    let most = if alone { 1 } else { (rows * across).div_ceil(8 * THREADS).max(1) };
    Form::Columns { across, parts: MOST_BLOCKS.div_ceil(tiles).min(most) }
}

/// The number of elements that a thread handles at a time.
fn width(body: &Loop, form: Form, is_aligned: &dyn Fn(usize) -> bool) -> usize {
    let operands = body.operands.len();
    let reads = body.operands.iter().enumerate();
    let is_wide =
        reads.filter(|(_, access)| matches!(reading(access, 4), Reading::Together)).all(|(number, access)| {
            is_aligned(number) && (access.offset as usize * access.dtype.size()).is_multiple_of(16)
        }) && (0..body.outputs.len()).all(|number| is_aligned(operands + number));
    let fits = match form {
        Form::Flat => true,
        Form::Columns { .. } => body.cols.is_multiple_of(4),
        Form::Rows { .. } => false,
    };
    if !is_wide || !fits {
        return 1;
    }
    // Numbers of 16 bits fill a load by eights, where all others come by eights as well.
    let is_narrow = |dtype: DType| matches!(dtype, DType::BF16 | DType::F16);
    let reads = || body.operands.iter().filter(|access| reading(access, 8) != Reading::Splat);
    let by_eights = reads().all(|access| reading(access, 8) != Reading::Apart || reading(access, 4) == Reading::Apart)
        && (form == Form::Flat || body.cols.is_multiple_of(8))
        && body.outputs.iter().all(|output| is_narrow(output.dtype) || output.destination != Destination::Each)
        && reads().all(|access| is_narrow(access.dtype) || access.dtype == DType::Bool);
    if by_eights { 8 } else { 4 }
}

/// The value that is stored for an output: where that was rounded to bf16, the one before, because storing rounds as well.
fn before_rounding(body: &Loop, output: &Output) -> usize {
    let made = output.value.checked_sub(body.operands.len()).map(|number| &body.instructions[number]);
    match made {
        Some(instruction @ Instruction::Apply(apply)) if output.dtype == DType::BF16 && narrows(instruction) => {
            apply.inputs[0]
        }
        _ => output.value,
    }
}

struct Writer<'a> {
    body: &'a Loop,
    form: Form,
    width: usize,
    text: String,
    indent: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        writeln!(self.text, "{:1$}{2}", "", self.indent, text.as_ref()).unwrap();
    }

    fn open(&mut self, text: impl AsRef<str>) {
        self.line(format!("{} {{", text.as_ref()));
        self.indent += 4;
    }

    fn close(&mut self) {
        self.indent -= 4;
        self.line("}");
    }

    fn print(&mut self) {
        let body = self.body;
        write!(self.text, "struct Loop {{\n{}", pointers(body)).unwrap();
        for number in self.sums() {
            let dtype = summed(body.outputs[number].dtype);
            writeln!(self.text, "    {dtype} *part{number};").unwrap();
        }
        self.text += "    i64 elements;\n    i64 blocks;\n};\n";
        match self.form {
            Form::Flat => self.flat(),
            Form::Columns { across, parts } => self.columns(across, parts),
            Form::Rows { threads, together, parts } => self.rows(threads, together, parts),
        }
        self.text += "}\n";
    }

    /// The outputs that are sums of all elements or of columns.
    fn sums(&self) -> Vec<usize> {
        let outputs = self.body.outputs.iter().enumerate();
        outputs.filter(|(_, output)| output.destination != Destination::Each).map(|(number, _)| number).collect()
    }

    fn is_total(&self, output: usize) -> bool {
        self.body.outputs[output].destination == Destination::Total
    }

    fn flat(&mut self) {
        let width = self.width;
        writeln!(self.text, "DEVICE void run(const Loop &at, i64 block, int) {{").unwrap();
        self.splats();
        self.sum_variables(1);
        self.open(format!(
            "for (i64 i = (block * {THREADS} + threadIdx.x) * {width}; i < at.elements; i += at.blocks * {})",
            THREADS * width
        ));
        self.line(format!("int left = at.elements - i < {width} ? (int)(at.elements - i) : {width};"));
        self.group("left");
        self.close();
        self.totals("block", "at.blocks", THREADS);
    }

    fn columns(&mut self, across: usize, parts: usize) {
        let (width, down) = (self.width, THREADS / across);
        let Loop { rows, cols, .. } = *self.body;
        writeln!(self.text, "DEVICE void run(const Loop &at, int tile, int part) {{").unwrap();
        self.line(format!("const int x = threadIdx.x % {across}, y = threadIdx.x / {across};"));
        self.splats();
        self.sum_variables(width);
        self.line(format!("const int column = (tile * {across} + x) * {width};"));
        self.open(format!("if (column < {cols})"));
        self.open(format!("for (int row = part * {down} + y; row < {rows}; row += {})", parts * down));
        self.line(format!("i64 i = (i64)row * {cols} + column;"));
        self.line(format!("const int left = {width};"));
        self.group("left");
        self.close();
        self.close();
        let tiles = cols.div_ceil(across * width);
        self.totals(&format!("part * {tiles} + tile"), &format!("{}", tiles * parts), THREADS);
        for number in self.sums().into_iter().filter(|number| !self.is_total(*number)).collect::<Vec<_>>() {
            let sum = summed(self.body.outputs[number].dtype);
            self.open("");
            self.line(format!("__shared__ {sum} sums[{down}][{}];", across * width));
            self.line(format!("for (int k = 0; k < {width}; k++) sums[y][x * {width} + k] = sum{number}[k];"));
            self.line("__syncthreads();");
            self.open(format!("if (y == 0 && column < {cols}) for (int k = 0; k < {width}; k++)"));
            self.line(format!("{sum} all = 0;"));
            self.line(format!("for (int other = 0; other < {down}; other++) all += sums[other][x * {width} + k];"));
            let place = if parts > 1 { format!("part{number}") } else { format!("y{number}") };
            let row = if parts > 1 { format!("(i64)part * {cols} + column + k") } else { "column + k".to_string() };
            self.line(format!("put(at.{place}, {row}, all);"));
            self.close();
            self.line("__syncthreads();");
            self.close();
        }
    }

    /// Operands that are one element for the whole loop.
    fn splats(&mut self) {
        for (number, access) in self.body.operands.iter().enumerate() {
            if reading(access, self.width) == Reading::Splat {
                self.line(format!("const {} v{number} = get(at.x{number}, {});", held(access.dtype), access.offset));
            }
        }
    }

    fn sum_variables(&mut self, columns: usize) {
        for number in self.sums() {
            let count = if self.is_total(number) { String::new() } else { format!("[{columns}]") };
            let zero = if count.is_empty() { "0" } else { "{}" };
            self.line(format!("{} sum{number}{count} = {zero};", summed(self.body.outputs[number].dtype)));
        }
    }

    /// Adds the sums of the threads, and stores one for this block.
    fn totals(&mut self, block: &str, blocks: &str, threads: usize) {
        for number in self.sums().into_iter().filter(|number| self.is_total(*number)).collect::<Vec<_>>() {
            let sum = summed(self.body.outputs[number].dtype);
            self.line(format!("sum{number} = fold_threads<Sum, {threads}>(sum{number}, ({sum})0, threadIdx.x);"));
            self.line(format!("if (threadIdx.x == 0 && {blocks} > 1) at.part{number}[{block}] = sum{number};"));
            self.line(format!("if (threadIdx.x == 0 && {blocks} == 1) put(at.y{number}, 0, sum{number});"));
        }
    }

    /// Reads, computes and stores the elements from `i` on.
    fn group(&mut self, left: &str) {
        let (body, width, cols) = (self.body, self.width, self.body.cols);
        // Divisions of short numbers are faster.
        let number = if body.elements() < 1 << 31 { "int" } else { "i64" };
        self.line(format!("const {number} n = i;"));
        for (number, access) in body.operands.iter().enumerate() {
            let i = if access.by_rows { format!("(n / {cols})") } else { "n".to_string() };
            let held = held(access.dtype);
            match reading(access, width) {
                Reading::Splat => {}
                Reading::Together => {
                    self.line(format!("{held} g{number}[{width}];"));
                    let place = index(access, &i);
                    self.line(format!("load<{width}>(g{number}, at.x{number} + ({place}), {left});"));
                }
                Reading::Repeated => {
                    let place = index(access, &i);
                    self.line(format!("const {held} v{number} = get(at.x{number}, {place});"));
                }
                Reading::Apart => {
                    let place = index(access, &i.replace('n', "(n + k)"));
                    self.line(format!("{held} g{number}[{width}];"));
                    self.line(format!(
                        "for (int k = 0; k < {width}; k++) if (k < {left}) g{number}[k] = get(at.x{number}, {place});"
                    ));
                }
            }
        }
        for (number, output) in body.outputs.iter().enumerate() {
            if output.destination == Destination::Each && !body.is_by_rows(output.value) {
                self.line(format!("{} r{number}[{width}];", held(output.dtype)));
            }
        }
        self.line("#pragma unroll");
        self.open(format!("for (int k = 0; k < {width}; k++)"));
        for (number, access) in body.operands.iter().enumerate() {
            if matches!(reading(access, width), Reading::Together | Reading::Apart) {
                self.line(format!("const {} v{number} = g{number}[k];", held(access.dtype)));
            }
        }
        for (number, instruction) in body.instructions.iter().enumerate() {
            let value = body.operands.len() + number;
            let held = held(body.dtype(value));
            match instruction {
                Instruction::Apply(apply) => {
                    let inputs: Vec<String> = apply.inputs.iter().map(|input| format!("v{input}")).collect();
                    self.line(format!("const {held} v{value} = op{number}({});", inputs.join(", ")));
                }
                Instruction::Spread(input) => self.line(format!("const {held} v{value} = v{input};")),
                Instruction::Fold(..) => unreachable!("folds have rows"),
            }
        }
        for (number, output) in body.outputs.iter().enumerate() {
            let value = output.value;
            match output.destination {
                Destination::Each if body.is_by_rows(value) => {
                    let store = format!("put(at.y{number}, (n + k) / {cols}, v{value})");
                    self.line(format!("if (k < {left} && (n + k) % {cols} == 0) {store};"));
                }
                Destination::Each => self.line(format!("r{number}[k] = v{};", before_rounding(body, output))),
                Destination::Total => self.line(format!("if (k < {left}) sum{number} += v{value};")),
                Destination::Columns => self.line(format!("sum{number}[k] += v{value};")),
            }
        }
        self.close();
        for (number, output) in body.outputs.iter().enumerate() {
            if output.destination == Destination::Each && !body.is_by_rows(output.value) {
                self.line(format!("store<{width}>(at.y{number} + i, r{number}, {left});"));
            }
        }
    }

    /// Rows whose elements the threads keep; a fold ends a walk over the elements.
    fn rows(&mut self, threads: usize, together: usize, parts: usize) {
        let Loop { rows, cols, .. } = *self.body;
        let body = self.body;
        let kept = cols.div_ceil(threads);
        writeln!(self.text, "DEVICE void run(const Loop &at, int block, int) {{").unwrap();
        self.line(format!("const int x = threadIdx.x % {threads}, y = threadIdx.x / {threads};"));
        self.sum_variables(kept);
        self.open(format!("for (int row = block * {together} + y; row < {rows}; row += {})", parts * together));
        let walk = format!("for (int k = 0; k < {kept}; k++) if (k * {threads} + x < {cols})");
        for value in 0..body.operands.len() + body.instructions.len() {
            let count = if body.is_by_rows(value) { String::new() } else { format!("[{kept}]") };
            self.line(format!("{} v{value}{count};", held(body.dtype(value))));
        }
        let place = |value: usize| if body.is_by_rows(value) { format!("v{value}") } else { format!("v{value}[k]") };
        let mut is_walking = false;
        let mut turn = |writer: &mut Self, walks: bool| {
            if walks && !is_walking {
                writer.line("#pragma unroll");
                writer.open(&walk);
                writer.line(format!("const i64 i = (i64)row * {cols} + k * {threads} + x;"));
            }
            if !walks && is_walking {
                writer.close();
            }
            is_walking = walks;
        };
        for by_rows in [true, false] {
            for (number, access) in body.operands.iter().enumerate().filter(|(_, access)| access.by_rows == by_rows) {
                turn(self, !by_rows);
                let from = index(access, if by_rows { "row" } else { "i" });
                self.line(format!("{} = get(at.x{number}, {from});", place(number)));
            }
        }
        for (number, instruction) in body.instructions.iter().enumerate() {
            let value = body.operands.len() + number;
            match instruction {
                Instruction::Apply(apply) => {
                    let inputs: Vec<String> = apply.inputs.iter().map(|&input| place(input)).collect();
                    turn(self, !body.is_by_rows(value));
                    self.line(format!("{} = op{number}({});", place(value), inputs.join(", ")));
                }
                Instruction::Spread(input) => {
                    turn(self, true);
                    self.line(format!("{} = v{input};", place(value)));
                }
                Instruction::Fold(fold, input) => {
                    let dtype = body.dtype(*input);
                    let (name, sum, first) = match fold {
                        Fold::Sum => ("Sum", summed(dtype), "0"),
                        Fold::Max => ("Max", held(dtype), bounds(dtype)[0]),
                        Fold::Min => ("Min", held(dtype), bounds(dtype)[1]),
                    };
                    turn(self, false);
                    self.line(format!("{sum} fold{value} = {first};"));
                    turn(self, true);
                    self.line(format!("fold{value} = {name}::of(fold{value}, ({sum}){});", place(*input)));
                    turn(self, false);
                    self.line(format!("v{value} = fold_threads<{name}, {threads}>(fold{value}, ({sum}){first}, x);"));
                }
            }
        }
        for (number, output) in body.outputs.iter().enumerate() {
            let (value, by_rows) = (output.value, body.is_by_rows(output.value));
            turn(self, !by_rows);
            let x = place(value);
            match output.destination {
                Destination::Each if by_rows => self.line(format!("if (x == 0) put(at.y{number}, row, {x});")),
                Destination::Each => self.line(format!("put(at.y{number}, i, {x});")),
                Destination::Total if by_rows => self.line(format!("if (x == 0) sum{number} += {x};")),
                Destination::Total => self.line(format!("sum{number} += {x};")),
                Destination::Columns => self.line(format!("sum{number}[k] += {x};")),
            }
        }
        turn(self, false);
        self.close();
        self.totals("block", &parts.to_string(), threads * together);
        for number in self.sums().into_iter().filter(|number| !self.is_total(*number)).collect::<Vec<_>>() {
            let (to, from) = if parts > 1 { ("part", "block") } else { ("y", "0") };
            let column = format!("k * {threads} + x");
            self.line(format!(
                "for (int k = 0; k < {kept}; k++) if ({column} < {cols}) put(at.{to}{number}, (i64){from} * {cols} + {column}, sum{number}[k]);"
            ));
        }
    }
}
