//! Running a loop: tasks, tiles, instructions.

use super::fold::{Sum, add_all, add_columns, join, store};
use super::{Instruction, Reading, Target, Tiled, held};
use crate::dtype::{Compute, DType};
use crate::map::Walker;
use crate::memory::{Memory, Span};
use crate::pool::Block;
use crate::simd::vectorised;
use crate::threads::{Disjoint, for_each_tile};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::Range;

/// Elements times instructions below which a region costs more than it saves.
const PARALLEL_WORK: usize = 400_000;

/// Tasks that a loop is cut into at most, and work that each has at least.
const MOST_TASKS: usize = 64;
const TASK_WORK: usize = 100_000;

/// The memory of one call: where operands and outputs start, and where sums are gathered.
struct Call {
    operands: SmallVec<[*const u8; 16]>,
    lengths: SmallVec<[usize; 16]>,
    outputs: SmallVec<[*mut u8; 8]>,
}

// SAFETY: tasks write disjoint elements of the outputs, and read operands that nobody writes, or that the same task alone
// writes, after it has read them.
unsafe impl Sync for Call {}

thread_local! {
    /// Registers, kept from one loop to the next.
    static REGISTERS: RefCell<Vec<[u64; 8]>> = const { RefCell::new(Vec::new()) };
}

impl Tiled {
    /// Runs the loop on spans for its operands and its outputs. An output may be the span of an operand that is contiguous and
    /// has elements of its size: it is overwritten.
    pub fn run(&self, memory: &mut Memory<'_>, operands: &[Span], outputs: &[Span]) {
        assert_eq!((operands.len(), outputs.len()), (self.operands.len(), self.outputs.len()), "tiled: one span each");
        self.expect_apart(operands, outputs);
        let call = Call {
            operands: operands.iter().map(|span| memory.start_of(span, false).cast_const()).collect(),
            lengths: operands.iter().map(|span| span.length).collect(),
            outputs: outputs.iter().map(|span| memory.start_of(span, true)).collect(),
        };
        let elements = self.elements();
        let work = elements * (self.steps.len() + self.operands.len() + self.outputs.len());
        let tasks = if work < PARALLEL_WORK { 1 } else { (work / TASK_WORK).min(MOST_TASKS) };
        let each = elements.div_ceil(tasks).next_multiple_of(self.tile.max(1)).max(1);
        let tasks = elements.div_ceil(each).max(1);
        // Sums of each task, one output after the other.
        let widths: SmallVec<[usize; 8]> = self.outputs.iter().map(|output| self.sums_of(output.target)).collect();
        let width: usize = widths.iter().sum();
        let mut sums = Block::new(tasks * width * size_of::<Sum>());
        let sums = sums.bytes_mut().expect("a new block is unique");
        sums.fill(0);
        let shared = Disjoint::new(sums);
        for_each_tile(tasks, &|task| {
            let range = task * each..((task + 1) * each).min(elements);
            let length = width * size_of::<Sum>();
            // SAFETY: each task has its own sums.
            let sums = unsafe { shared.range(task * length, length) };
            self.run_task(&call, range, sums);
        });
        if width > 0 {
            self.write_sums(&call, &widths, sums, outputs);
        }
    }

    /// How many sums an output is gathered in.
    fn sums_of(&self, target: Target) -> usize {
        match target {
            Target::Each => 0,
            Target::Total => 1,
            Target::Columns => self.cols,
        }
    }

    /// Spans are long enough, and what is written is apart from everything else, but for operands that are overwritten.
    fn expect_apart(&self, operands: &[Span], outputs: &[Span]) {
        for (number, (output, span)) in self.outputs.iter().zip(outputs).enumerate() {
            let elements = match (output.target, self.values[output.value].by_rows) {
                (Target::Each, false) => self.elements(),
                (Target::Each, true) => self.rows,
                (target, _) => self.sums_of(target),
            };
            assert_eq!(span.length, elements * output.dtype.size(), "tiled: room for {elements} {}", output.dtype);
            assert!(outputs[..number].iter().all(|other| !other.overlaps(span)), "tiled: two outputs in one place");
            for (operand, read) in self.operands.iter().zip(operands) {
                let overwritten = output.in_place
                    && matches!(operand.kind, Reading::Direct)
                    && operand.offset == 0
                    && read == span
                    && operand.dtype.size() == output.dtype.size();
                assert!(overwritten || !read.overlaps(span), "tiled: an operand is overwritten while it is read");
            }
        }
        for (operand, span) in self.operands.iter().zip(operands) {
            let needed = match &operand.kind {
                Reading::Direct => (operand.offset as usize + operand.elements) * operand.dtype.size(),
                Reading::Loaded(layout) | Reading::Periodic(layout) => {
                    let reach = layout.shape.iter().zip(&layout.strides).map(|(&n, &s)| (n as isize - 1) * s.max(0));
                    (operand.offset + reach.sum::<isize>() + 1) as usize * operand.dtype.size()
                }
            };
            assert!(operand.elements == 0 || needed <= span.length, "tiled: an operand leaves its span");
        }
    }

    fn run_task(&self, call: &Call, range: Range<usize>, sums: &mut [u8]) {
        // A loop inside a loop's task cannot be: lanes only compute.
        REGISTERS.with_borrow_mut(|registers| {
            let bytes = self.tile.min(self.elements()) * self.width();
            let each = bytes.div_ceil(64);
            if registers.len() < each * self.registers {
                registers.resize(each * self.registers, [0; 8]);
            }
            let start = registers.as_mut_ptr().cast::<u8>();
            let mut frame = Frame { tiled: self, call, start, each: each * 64, ready: 0 };
            let mut from = range.start;
            while from < range.end {
                let to = (from + self.tile).min(range.end);
                frame.run_tile(from..to, sums);
                from = to;
            }
        });
    }

    /// Sums of all tasks in order.
    fn write_sums(&self, call: &Call, widths: &[usize], sums: &mut [u8], spans: &[Span]) {
        let width: usize = widths.iter().sum();
        let (first, others) = sums.split_at_mut(width * size_of::<Sum>());
        let mut at = 0;
        for (number, (output, &count)) in self.outputs.iter().zip(widths).enumerate() {
            if count > 0 {
                let range = at * size_of::<Sum>()..(at + count) * size_of::<Sum>();
                let held = held(self.values[output.value].dtype);
                for task in others.chunks_exact(width * size_of::<Sum>()) {
                    join(held, &mut first[range.clone()], &task[range.clone()]);
                }
                // SAFETY: the span is in bounds, all tasks have ended, and outputs are apart.
                let out = unsafe { std::slice::from_raw_parts_mut(call.outputs[number], spans[number].length) };
                store(&first[range], output.dtype, out);
                at += count;
            }
        }
    }
}

/// One thread at work.
struct Frame<'a> {
    tiled: &'a Tiled,
    call: &'a Call,
    /// Registers, and the bytes of each.
    start: *mut u8,
    each: usize,
    /// Elements of operands that are the same in every tile that are in their registers.
    ready: usize,
}

impl Frame<'_> {
    fn register(&self, number: usize) -> *mut u8 {
        self.start.wrapping_add(number * self.each)
    }

    /// Elements of a value in a tile.
    fn count(&self, value: usize, tile: &Range<usize>) -> usize {
        match self.tiled.values[value].by_rows {
            true => tile.len() / self.tiled.cols.max(1),
            false => tile.len(),
        }
    }

    /// The position of a tile in a value.
    fn from(&self, value: usize, tile: &Range<usize>) -> usize {
        match self.tiled.values[value].by_rows {
            true => tile.start / self.tiled.cols.max(1),
            false => tile.start,
        }
    }

    /// Where a value's part of this tile lies.
    fn place(&self, value: usize, tile: &Range<usize>) -> *const u8 {
        let tiled = self.tiled;
        if let Some(register) = tiled.values[value].register {
            return self.register(register).cast_const();
        }
        let from = self.from(value, tile);
        match value.checked_sub(tiled.operands.len()) {
            None => {
                let operand = &tiled.operands[value];
                let start = (operand.offset as usize + from) * operand.dtype.size();
                self.call.operands[value].wrapping_add(start)
            }
            Some(step) => {
                let output = tiled.steps[step].direct.expect("a value has a register or is written in place");
                let size = tiled.outputs[output].dtype.size();
                self.call.outputs[output].wrapping_add(from * size).cast_const()
            }
        }
    }

    /// The bytes of a value in this tile.
    ///
    /// # Safety
    /// Nobody writes them meanwhile.
    unsafe fn bytes(&self, value: usize, tile: &Range<usize>) -> &[u8] {
        let length = self.count(value, tile) * held(self.tiled.values[value].dtype).size();
        // SAFETY: registers are long enough for a tile; spans were checked to be; the caller's promise.
        unsafe { std::slice::from_raw_parts(self.place(value, tile), length) }
    }

    fn run_tile(&mut self, tile: Range<usize>, sums: &mut [u8]) {
        self.load(&tile);
        let tiled = self.tiled;
        for (number, step) in tiled.steps.iter().enumerate() {
            let value = tiled.operands.len() + number;
            let length = self.count(value, &tile) * held(tiled.values[value].dtype).size();
            // SAFETY: an instruction has a register or an output of its own, which is neither read by it nor an operand.
            let out = unsafe { std::slice::from_raw_parts_mut(self.place(value, &tile).cast_mut(), length) };
            match &step.instruction {
                Instruction::Lane { lane, inputs, .. } => {
                    // SAFETY: registers of inputs are not given to the output.
                    let inputs: SmallVec<[&[u8]; 4]> =
                        inputs.iter().map(|&input| unsafe { self.bytes(input, &tile) }).collect();
                    lane(&inputs, out);
                }
                Instruction::Spread(input) => {
                    // SAFETY: as above.
                    let numbers = unsafe { self.bytes(*input, &tile) };
                    spread(held(tiled.values[value].dtype), numbers, tiled.cols, out);
                }
                Instruction::Fold(fold, input) => {
                    // SAFETY: as above.
                    let rows = unsafe { self.bytes(*input, &tile) };
                    fold.rows(held(tiled.values[*input].dtype), rows, tiled.cols, out);
                }
            }
        }
        self.finish(&tile, sums);
    }

    /// Fills the registers of operands that are not read in place.
    fn load(&mut self, tile: &Range<usize>) {
        let tiled = self.tiled;
        for (value, operand) in tiled.operands.iter().enumerate() {
            let (layout, from, count) = match &operand.kind {
                Reading::Direct => continue,
                Reading::Periodic(_) if self.ready >= tile.len() => continue,
                Reading::Periodic(layout) => (layout, 0, tile.len()),
                Reading::Loaded(layout) => (layout, self.from(value, tile), self.count(value, tile)),
            };
            let register = self.register(tiled.values[value].register.expect("loaded operands have registers"));
            // SAFETY: the span is in bounds and nothing overwrites operands that are loaded.
            let bytes = unsafe { std::slice::from_raw_parts(self.call.operands[value], self.call.lengths[value]) };
            let walker = Walker { dtype: operand.dtype, bytes, offset: operand.offset, layout };
            // SAFETY: the register is this thread's own, aligned, and long enough for a tile.
            unsafe {
                match held(operand.dtype) {
                    DType::F64 => walker.load(from, std::slice::from_raw_parts_mut(register.cast::<f64>(), count)),
                    DType::F32 => walker.load(from, std::slice::from_raw_parts_mut(register.cast::<f32>(), count)),
                    DType::I64 => walker.load(from, std::slice::from_raw_parts_mut(register.cast::<i64>(), count)),
                    _ => load_bytes(&walker, from, std::slice::from_raw_parts_mut(register, count)),
                }
            }
        }
        self.ready = self.ready.max(tile.len());
    }

    /// Writes what instructions did not write in place, and adds up sums.
    fn finish(&self, tile: &Range<usize>, sums: &mut [u8]) {
        let (tiled, mut at) = (self.tiled, 0);
        for (number, output) in tiled.outputs.iter().enumerate() {
            let value = &tiled.values[output.value];
            let width = tiled.sums_of(output.target) * size_of::<Sum>();
            let sums = &mut sums[at..at + width];
            at += width;
            let is_direct = |step: usize| tiled.steps[step].direct == Some(number);
            if output.value.checked_sub(tiled.operands.len()).is_some_and(is_direct) {
                continue;
            }
            // SAFETY: nothing is written while this is read: outputs are apart from each other, and an operand that is
            // overwritten is either this very value, copied below, or was read before.
            let bytes = unsafe { self.bytes(output.value, tile) };
            match output.target {
                Target::Total => add_all(held(value.dtype), bytes, sums.try_into().expect("one sum")),
                Target::Columns => add_columns(held(value.dtype), bytes, sums),
                Target::Each => {
                    let (from, count) = (self.from(output.value, tile), self.count(output.value, tile));
                    let size = output.dtype.size();
                    let place = self.call.outputs[number].wrapping_add(from * size);
                    if place.cast_const() != bytes.as_ptr() {
                        // SAFETY: this tile's part of the output, in bounds.
                        let out = unsafe { std::slice::from_raw_parts_mut(place, count * size) };
                        match held(value.dtype) {
                            DType::F64 => f64::store(bytemuck::cast_slice(bytes), output.dtype, out),
                            DType::F32 => f32::store(bytemuck::cast_slice(bytes), output.dtype, out),
                            DType::I64 => i64::store(bytemuck::cast_slice(bytes), output.dtype, out),
                            _ => out.copy_from_slice(bytes),
                        }
                    }
                }
            }
        }
    }
}

/// Masks are bytes: read as whole numbers, which are 0 or 1.
fn load_bytes(walker: &Walker<'_>, from: usize, out: &mut [u8]) {
    const PART: usize = 256;
    let mut numbers = [0i64; PART];
    for (part, out) in out.chunks_mut(PART).enumerate() {
        let numbers = &mut numbers[..out.len()];
        walker.load(from + part * PART, numbers);
        for (out, number) in out.iter_mut().zip(numbers) {
            *out = *number as u8;
        }
    }
}

/// Every number repeated along its row.
fn spread(held: DType, numbers: &[u8], cols: usize, out: &mut [u8]) {
    match held {
        DType::F64 | DType::I64 => spread_as::<u64>(bytemuck::cast_slice(numbers), cols, bytemuck::cast_slice_mut(out)),
        DType::F32 => spread_as::<u32>(bytemuck::cast_slice(numbers), cols, bytemuck::cast_slice_mut(out)),
        _ => spread_as::<u8>(numbers, cols, out),
    }
}

vectorised! {
    fn spread_as[T: Copy](numbers: &[T], cols: usize, out: &mut [T]) {
        for (row, &number) in out.chunks_exact_mut(cols).zip(numbers) {
            for out in row {
                *out = number;
            }
        }
    }
}
