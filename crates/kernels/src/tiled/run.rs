//! Runs a loop: tasks, tiles, instructions.

use super::fold::{Sum, add_all, add_columns, join, store};
use super::{Destination, Instruction, Reading, Tiled, Value, held};
use crate::dtype::{Compute, DType};
use crate::map::Walker;
use crate::memory::Span;
use crate::simd::vectorised;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::Range;

/// The work (elements times instructions) below which a parallel region costs more than it saves.
pub(super) const PARALLEL_WORK: usize = 400_000;

/// The memory of one call: the spans that it reads, and the addresses of operands and outputs.
#[derive(Clone)]
pub(super) struct Call<'a> {
    pub reads: &'a [Span],
    pub operands: SmallVec<[*const u8; 16]>,
    pub outputs: SmallVec<[*mut u8; 8]>,
}

thread_local! {
    /// Registers, kept from one loop to the next.
    static REGISTERS: RefCell<Vec<[u64; 8]>> = const { RefCell::new(Vec::new()) };
}

impl Tiled {
    /// Panics unless spans are long enough and outputs are disjoint from everything else, except for operands that they overwrite.
    pub(super) fn expect_apart(&self, operands: &[Span], outputs: &[Span]) {
        assert_eq!((operands.len(), outputs.len()), (self.operands.len(), self.outputs.len()), "tiled: one span each");
        for (number, (output, span)) in self.outputs.iter().zip(outputs).enumerate() {
            let elements = match (output.destination, self.values[output.value].by_rows) {
                (Destination::Each, false) => self.elements(),
                (Destination::Each, true) => self.rows,
                (destination, _) => self.sums_of(destination),
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
            let reach = match &operand.kind {
                Reading::Direct => Some(operand.elements as isize - 1),
                // Accesses before the start of the span are detected on loading.
                Reading::Loaded(layout) | Reading::Periodic(layout) => {
                    let axes = layout.shape.iter().zip(&layout.strides);
                    axes.map(|(&n, &stride)| (n as isize - 1).checked_mul(stride.max(0)))
                        .try_fold(0isize, |sum, reach| sum.checked_add(reach?))
                }
            };
            let behind =
                reach.and_then(|reach| usize::try_from(operand.offset.checked_add(reach)?.checked_add(1)?).ok());
            let first = usize::try_from(operand.offset).ok();
            let needed = first.and(behind).and_then(|behind| behind.checked_mul(operand.dtype.size()));
            let fits = needed.is_some_and(|needed| needed <= span.length);
            assert!(operand.elements == 0 || fits, "tiled: an operand leaves its span");
        }
    }

    /// Runs the elements of one task.
    pub(super) fn run_task(&self, call: &Call<'_>, range: Range<usize>, sums: &mut [u8]) {
        let mut run = |registers: &mut Vec<[u64; 8]>| {
            let bytes = self.tile.min(self.elements()) * self.width();
            let each = bytes.div_ceil(64);
            if registers.len() < each * self.registers {
                registers.resize(each * self.registers, [0; 8]);
            }
            let start = registers.as_mut_ptr().cast::<u8>();
            let mut frame = Frame::new(self, call, start, each * 64);
            let mut from = range.start;
            while from < range.end {
                let to = (from + self.tile).min(range.end);
                frame.run_tile(from..to, sums);
                from = to;
            }
        };
        // Loops cannot be nested in a loop's task, because lanes only compute. A thread that is ending has no thread-local registers.
        if REGISTERS.try_with(|registers| run(&mut registers.borrow_mut())).is_err() {
            run(&mut Vec::new());
        }
    }

    /// Adds the sums of all tasks in order and writes them.
    pub(super) fn write_sums(&self, call: &Call<'_>, widths: &[usize], sums: &mut [u8], spans: &[Span]) {
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
                // SAFETY: `Memory::start_of` checked that the span is in its region, which is writable and borrowed by the caller. All
                // tasks have finished, and `expect_apart` checked that no other output overlaps it.
                let out = unsafe { std::slice::from_raw_parts_mut(call.outputs[number], spans[number].length) };
                store(&first[range], output.dtype, out);
                at += count;
            }
        }
    }
}

/// The state of one task.
struct Frame<'a> {
    tiled: &'a Tiled,
    call: &'a Call<'a>,
    /// The address of every value of the tile.
    places: SmallVec<[*mut u8; 64]>,
    /// The number of elements of tile-independent operands that are already in their registers.
    ready: usize,
}

/// The current part of the iteration space: elements, and rows if tiles hold whole rows.
#[derive(Clone, Copy)]
struct Extent {
    from: usize,
    count: usize,
    first_row: usize,
    rows: usize,
}

impl Extent {
    fn from(&self, value: &Value) -> usize {
        if value.by_rows { self.first_row } else { self.from }
    }

    fn count(&self, value: &Value) -> usize {
        if value.by_rows { self.rows } else { self.count }
    }

    fn bytes(&self, value: &Value) -> usize {
        self.count(value) << value.shift
    }
}

impl<'a> Frame<'a> {
    /// `start` is the first register, each of `bytes`.
    fn new(tiled: &'a Tiled, call: &'a Call<'a>, start: *mut u8, bytes: usize) -> Frame<'a> {
        let place = |value: &Value| value.register.map_or(start, |number| start.wrapping_add(number * bytes));
        Frame { tiled, call, places: tiled.values.iter().map(place).collect(), ready: 0 }
    }

    /// The bytes of a value in this tile.
    ///
    /// # Safety
    /// Its address was set for this tile, and no code writes it meanwhile.
    #[inline(always)]
    unsafe fn bytes(&self, value: usize, part: &Extent) -> &'a [u8] {
        let length = part.bytes(&self.tiled.values[value]);
        // SAFETY: a register has room for a tile of the widest element (`run_task`), and a span for all elements from its start on
        // (`expect_apart`); part and tile are in the iteration space. No code writes these bytes, as the caller guarantees.
        unsafe { std::slice::from_raw_parts(self.places[value].cast_const(), length) }
    }

    fn run_tile(&mut self, tile: Range<usize>, sums: &mut [u8]) {
        let tiled = self.tiled;
        let (first_row, rows) = match tiled.by_rows && tiled.cols > 0 {
            true => (tile.start / tiled.cols, tile.len() / tiled.cols),
            false => (0, 0),
        };
        let part = Extent { from: tile.start, count: tile.len(), first_row, rows };
        self.load(&part);
        for (number, step) in tiled.steps.iter().enumerate() {
            let value = tiled.operands.len() + number;
            if let Some(output) = step.direct {
                let start = part.from(&tiled.values[value]) << tiled.values[value].shift;
                self.places[value] = self.call.outputs[output].wrapping_add(start);
            }
            let length = part.bytes(&tiled.values[value]);
            // SAFETY: `allocate` assigned the instruction a register that holds no value which is still read, or an output that no other
            // instruction writes. Outputs that are not `in_place` overlap no operand (`expect_apart`). So no other code uses these bytes,
            // of which there are `length` as in `bytes`, and the values read were set by `load` or by an earlier instruction.
            unsafe {
                let out = std::slice::from_raw_parts_mut(self.places[value], length);
                match &step.instruction {
                    Instruction::Lane { lane, inputs, .. } => match inputs[..] {
                        [a] => lane(&[self.bytes(a, &part)], out),
                        [a, b] => lane(&[self.bytes(a, &part), self.bytes(b, &part)], out),
                        _ => {
                            let inputs: SmallVec<[&[u8]; 4]> =
                                inputs.iter().map(|&input| self.bytes(input, &part)).collect();
                            lane(&inputs, out);
                        }
                    },
                    Instruction::Spread(input) => {
                        spread(held(tiled.values[value].dtype), self.bytes(*input, &part), tiled.cols, out);
                    }
                    Instruction::Fold(fold, input) => {
                        fold.rows(held(tiled.values[*input].dtype), self.bytes(*input, &part), tiled.cols, out);
                    }
                }
            }
        }
        self.finish(&part, sums);
    }

    /// Locates operands that are read in place, and fills the registers of the others.
    fn load(&mut self, part: &Extent) {
        let tiled = self.tiled;
        for (number, operand) in tiled.operands.iter().enumerate() {
            let value = &tiled.values[number];
            let (layout, from, count) = match &operand.kind {
                Reading::Direct => {
                    let start = (operand.offset as usize + part.from(value)) << value.shift;
                    self.places[number] = self.call.operands[number].wrapping_add(start).cast_mut();
                    continue;
                }
                Reading::Periodic(_) if self.ready >= part.count => continue,
                Reading::Periodic(layout) => (layout, 0, part.count),
                Reading::Loaded(layout) => (layout, part.from(value), part.count(value)),
            };
            let register = self.places[number];
            // SAFETY: `Memory::start_of` checked that the span is in its region; `expect_apart` checked that no output overlaps an operand
            // that is loaded.
            let bytes =
                unsafe { std::slice::from_raw_parts(self.call.operands[number], self.call.reads[number].length) };
            let walker = Walker { dtype: operand.dtype, bytes, offset: operand.offset, layout };
            // SAFETY: the register is one of those that only `run_task` has borrowed; it is initialised, aligned to 8 as its `u64`s are,
            // and has room for a tile of the widest element. `allocate` assigned it to this operand alone, until that is read.
            unsafe {
                match held(operand.dtype) {
                    DType::F64 => walker.load(from, std::slice::from_raw_parts_mut(register.cast::<f64>(), count)),
                    DType::F32 => walker.load(from, std::slice::from_raw_parts_mut(register.cast::<f32>(), count)),
                    DType::I64 => walker.load(from, std::slice::from_raw_parts_mut(register.cast::<i64>(), count)),
                    _ => load_bytes(&walker, from, std::slice::from_raw_parts_mut(register, count)),
                }
            }
        }
        self.ready = self.ready.max(part.count);
    }

    /// Writes the outputs that instructions did not write directly, and adds up sums.
    fn finish(&self, part: &Extent, sums: &mut [u8]) {
        let (tiled, mut at) = (self.tiled, 0);
        for (number, output) in tiled.outputs.iter().enumerate() {
            let value = &tiled.values[output.value];
            let width = tiled.sums_of(output.destination) * size_of::<Sum>();
            let sums = &mut sums[at..at + width];
            at += width;
            let is_direct = |step: usize| tiled.steps[step].direct == Some(number);
            if output.value.checked_sub(tiled.operands.len()).is_some_and(is_direct) {
                continue;
            }
            // SAFETY: `load` or its instruction set its address. The writes below go to an output: it overlaps no register and no other
            // output, and at most one operand, which is direct and has the same span (`expect_apart`). If that is this very value, both
            // begin at the same address, and nothing is written.
            let bytes = unsafe { self.bytes(output.value, part) };
            match output.destination {
                Destination::Total => add_all(held(value.dtype), bytes, sums.try_into().expect("one sum")),
                Destination::Columns => add_columns(held(value.dtype), bytes, sums),
                Destination::Each => {
                    let (from, count) = (part.from(value), part.count(value));
                    let size = output.dtype.size();
                    let place = self.call.outputs[number].wrapping_add(from * size);
                    if place.cast_const() != bytes.as_ptr() {
                        // SAFETY: these are the elements `from..from + count` of a span that has all elements (`expect_apart`) and lies in
                        // its region (`Memory::start_of`). Other tasks have other elements, and `bytes` is elsewhere, as said above.
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

/// Masks are bytes: read as integers, which are 0 or 1.
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

/// Repeats every number along its row.
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
