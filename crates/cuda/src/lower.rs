//! From plans to launches.

use crate::absorbed::{Absorbed, Addition};
use crate::calls;
use crate::launch::{Kernel, Launch, Launches, Shape, Word, Work};
use crate::product::{Product, Rounding};
use crate::source::{Printed, Sums, entry, stored, sum_bytes, summed, with_words};
use rustc_hash::FxHashMap;
use wengert_compiler::plan::{Placed, PlacedLoop, Plan, Read};
use wengert_compiler::program::Precision;
use wengert_core::location::Line;
use wengert_core::primitive::{Attrs, Primitive, Spec};
use wengert_core::{DType, Error, ErrorKind, Tensor};
use wengert_kernels::memory::Span;
use wengert_kernels::tiled::Destination;

/// The alignment of everything in the workspace.
pub const ALIGNMENT: usize = 256;

/// Adds the parts of sums.
pub const FINISH: &str = include_str!("kernels/finish.cu");

/// The words that an argument may have: those of 4 KiB.
const MOST_WORDS: usize = 508;

/// A call of an operation that has its own kernels.
pub struct Call<'a> {
    /// The operation.
    pub op: &'static dyn Primitive,
    /// Its attributes.
    pub attrs: &'a Attrs,
    /// Its operands.
    pub reads: &'a [Read],
    /// Its outputs.
    pub writes: &'a [(Span, Spec)],
}

/// Loops of the same text, which become one launch.
struct Group {
    text: String,
    shape: Shape,
    words: Vec<Word>,
    count: usize,
}

/// Launches under construction.
pub struct Lowering {
    /// What was made so far.
    pub launches: Launches,
    /// How factors of f32 are rounded.
    pub rounding: Rounding,
    /// The compute capability of the device, such as 90.
    pub capability: usize,
    numbers: FxHashMap<Kernel, usize>,
    /// The constants of all plans; those of nested plans come behind the plan's own.
    pub constants: Vec<Tensor>,
    /// The number of the first region of constants behind those of the plan.
    more: usize,
    /// The bytes of the plan's workspace, and how many behind it are taken by the current step, and by the largest.
    arena: usize,
    scratch: usize,
    /// How many of these belong to the steps around a nested plan.
    kept: usize,
    step: usize,
    /// The regions of constants that are all zeros.
    zeros: Vec<usize>,
    /// Loops that calls run themselves.
    absorbed: Absorbed,
    /// Where the regions of the current plan lie.
    frame: Option<Vec<Span>>,
}

/// The launches of a plan, the constants that they read, and the number of the region of the first constant of nested plans.
pub fn lower(plan: &Plan, capability: usize) -> Result<(Launches, Vec<Tensor>, usize), Error> {
    let outputs = plan.updates.iter().filter(|update| update.is_none()).count();
    let more = 1 + plan.inputs + plan.constants.len() + outputs;
    let mut lowering = Lowering {
        launches: Launches { arena: plan.arena, ..Launches::default() },
        rounding: if plan.precision == Precision::Tf32 { Rounding::Tf32 } else { Rounding::None },
        capability,
        numbers: FxHashMap::default(),
        constants: Vec::new(),
        more,
        arena: plan.arena.next_multiple_of(ALIGNMENT),
        scratch: 0,
        kept: 0,
        step: 0,
        zeros: (0..plan.constants.len())
            .filter(|number| is_zero(&plan.constants[*number]))
            .map(|n| 1 + plan.inputs + n)
            .collect(),
        absorbed: Absorbed::of(&plan.steps),
        frame: None,
    };
    let mut number = 0;
    while let Some(step) = plan.steps.get(number) {
        lowering.step = number;
        let steps = plan.steps[number..].iter().enumerate();
        let small = steps
            .take_while(|(at, step)| calls::team::is_small(step) && !lowering.absorbed.drops_of(number + at))
            .take(calls::team::MOST_STEPS)
            .count();
        // Small sums are always those of one block, whatever stands beside them: plans of the same program add in the same order.
        let is_alone = small > 0 && calls::team::has_sums(step);
        let together = [small, usize::from(is_alone)].into_iter().filter(|count| *count > 1 || is_alone && *count > 0);
        let steps = |count: usize| &plan.steps[number..number + count];
        if let Some(count) = together.into_iter().find(|count| calls::team::run(&mut lowering, steps(*count))) {
            number += count;
            continue;
        }
        lowering.step(step)?;
        number += 1;
    }
    let Lowering { launches, constants, .. } = lowering;
    for launch in launches.lists.iter().flatten().chain(&launches.list) {
        if let Work::Kernel { kernel, shape, .. } = &launch.work
            && !shape.is_possible()
        {
            let name = &launches.kernels[*kernel].name;
            return Err(missing(format!("{name} of this size has no kernel for this device: {shape:?}")));
        }
    }
    Ok((launches, constants, more))
}

impl Lowering {
    fn step(&mut self, step: &Placed) -> Result<(), Error> {
        self.scratch = self.kept;
        match step {
            Placed::Loops(loops) => {
                let own = |number: usize, placed| match (self.step, number) {
                    at if self.frame.is_none() && self.absorbed.dropped.contains(&at) => self.absorbed.rests.get(&at),
                    _ => Some(placed),
                };
                let kept = loops.iter().enumerate().filter_map(|(number, placed)| own(number, placed)).cloned();
                let kept: Vec<PlacedLoop> = kept.collect();
                let kept: Vec<&PlacedLoop> = kept.iter().collect();
                self.loops(&kept)
            }
            Placed::Copy { read, write } => {
                let write = self.at(*write);
                self.copy(read, write)
            }
            Placed::Flow { flow, gathered, reads, writes, scratch, .. } => {
                for (read, write) in gathered {
                    let write = self.at(*write);
                    self.copy(read, write)?;
                }
                calls::flow(self, flow, reads, writes, *scratch)
            }
            Placed::Call { op, attrs, reads, writes, line, then, .. } => {
                self.call(&Call { op: *op, attrs, reads, writes }).map_err(|error| of_line(error, *line))?;
                then.iter().try_for_each(|loops| self.loops(&loops.iter().collect::<Vec<_>>()))
            }
        }
    }

    /// The steps of a nested plan, whose regions lie at these spans, the constants excepted, which come before the last `outputs` spans.
    pub fn nested(&mut self, plan: &Plan, spans: &[Span], outputs: usize) -> Result<(), Error> {
        let (before, after) = spans.split_at(spans.len() - outputs);
        let frame = [before, &self.nested_constants(plan), after].concat();
        let outer = self.frame.replace(frame);
        let (kept, scratch) = (self.kept, self.scratch);
        self.kept = scratch;
        let result = plan.steps.iter().try_for_each(|step| self.step(step));
        (self.kept, self.scratch) = (kept, scratch);
        self.frame = outer;
        result
    }

    /// The number of a new list with the launches that `add` adds.
    pub fn list(&mut self, add: impl FnOnce(&mut Lowering) -> Result<(), Error>) -> Result<usize, Error> {
        let outer = std::mem::take(&mut self.launches.list);
        let result = add(self);
        let list = std::mem::replace(&mut self.launches.list, outer);
        self.launches.lists.push(list);
        result.map(|()| self.launches.lists.len() - 1)
    }

    /// Where the constants of a nested plan lie; each is uploaded once.
    pub fn nested_constants(&mut self, plan: &Plan) -> Vec<Span> {
        let place = |constant: &Tensor| {
            let is_small = constant.spec().bytes() <= 4096;
            let is_same = |known: &Tensor| {
                // The same memory, or the same few numbers.
                let bytes = [known, constant].map(Tensor::row_major_bytes);
                known.spec() == constant.spec()
                    && (std::ptr::eq(bytes[0], bytes[1]) || is_small && bytes[0] == bytes[1])
            };
            let known = self.constants.iter().position(is_same);
            let number = known.unwrap_or_else(|| {
                self.constants.push(constant.clone());
                self.constants.len() - 1
            });
            Span { region: self.more + number, start: 0, length: constant.spec().bytes() }
        };
        plan.constants.iter().map(place).collect()
    }

    /// A span of the current plan as one of the whole.
    pub fn at(&self, span: Span) -> Span {
        match &self.frame {
            None => span,
            Some(frame) => {
                let whole = frame[span.region];
                Span { region: whole.region, start: whole.start + span.start, length: span.length }
            }
        }
    }

    /// The memory of bf16 in which the first output of this step's call is stored, instead of its own.
    pub fn narrow_result(&self) -> Option<Span> {
        self.frame.is_none().then(|| self.absorbed.results.get(&self.step).copied()).flatten()
    }

    /// What this step's call adds to its first operand or result.
    pub fn addition(&self) -> Option<Addition> {
        self.frame.is_none().then(|| self.absorbed.additions.get(&self.step).copied()).flatten()
    }

    /// Whether all elements of an operand are known to be 0.
    pub fn is_zero(&self, read: &Read) -> bool {
        self.zeros.contains(&self.at(read.span).region)
    }

    /// Bytes behind the workspace that the current step may use.
    pub fn scratch(&mut self, bytes: usize) -> Span {
        let start = self.arena + self.scratch;
        self.scratch += bytes.next_multiple_of(ALIGNMENT);
        self.launches.arena = self.launches.arena.max(self.arena + self.scratch);
        Span { region: 0, start, length: bytes }
    }

    /// Adds a launch of the kernel `name` of a text.
    pub fn launch(&mut self, name: &str, text: String, shape: Shape, arguments: Vec<Vec<Word>>) {
        let kernel = Kernel { name: name.to_string(), text };
        let next = self.numbers.len();
        let number = *self.numbers.entry(kernel).or_insert_with_key(|kernel| {
            self.launches.kernels.push(kernel.clone());
            next
        });
        self.push(Work::Kernel { kernel: number, shape, arguments });
    }

    /// Adds a product of the vendor's library.
    pub fn product(&mut self, product: Product) {
        self.launches.products.push(product);
        self.push(Work::Product(self.launches.products.len() - 1));
    }

    /// Adds a piece of work.
    pub fn push(&mut self, work: Work) {
        self.launches.list.push(Launch { work, step: self.step });
    }

    /// Loops that do not depend on each other; those of the same text are one launch.
    pub fn loops(&mut self, loops: &[&PlacedLoop]) -> Result<(), Error> {
        let mut groups: Vec<Group> = Vec::new();
        for PlacedLoop { body, reads, writes, .. } in loops {
            if body.elements() == 0 && body.outputs.iter().all(|output| output.destination == Destination::Each) {
                continue;
            }
            if body.elements() == 0 {
                return Err(missing("a loop over no elements has no kernel for this device".to_string()));
            }
            let spans: Vec<Span> = reads.iter().chain(writes).map(|span| self.at(*span)).collect();
            let is_aligned = |number: usize| spans[number].start.is_multiple_of(16);
            let printed = Printed::new(body, &is_aligned, false).map_err(missing)?;
            let text = format!("{}{}", printed.text, entry(&printed));
            let Printed { shape, sums, entry, .. } = printed;
            let mut words: Vec<Word> = spans.iter().map(|span| Word::Address(*span)).collect();
            let mut finishes = Vec::new();
            for (number, output) in
                body.outputs.iter().enumerate().filter(|(_, it)| it.destination != Destination::Each)
            {
                words.push(match sums.iter().find(|sums| sums.output == number) {
                    Some(Sums { parts, columns, .. }) => {
                        let part = self.scratch(parts * columns * sum_bytes(output.dtype));
                        finishes.push((part, spans[body.operands.len() + number], *parts, *columns, output.dtype));
                        Word::Address(part)
                    }
                    None => Word::Number(0),
                });
            }
            let blocks = shape.grid.iter().product::<u32>();
            words.extend([Word::Number(body.elements() as u64), Word::Number(u64::from(blocks))]);
            if !entry {
                self.launch("loop", with_words(&text), shape, vec![words]);
                finishes
                    .into_iter()
                    .for_each(|(from, to, parts, columns, dtype)| self.finish(from, to, parts, columns, dtype));
                continue;
            }
            let fits = |group: &&mut Group| group.text == text && group.words.len() + words.len() <= MOST_WORDS;
            match groups.iter_mut().find(fits) {
                Some(group) => {
                    group.shape.grid[0] += blocks;
                    group.words.extend(words);
                    group.count += 1;
                }
                None => groups.push(Group { text, shape, words, count: 1 }),
            }
        }
        for Group { text, shape, words, count } in groups {
            self.launch("loop", format!("#define COUNT {count}\n{}", with_words(&text)), shape, vec![words]);
        }
        Ok(())
    }

    /// Adds the parts of sums.
    pub fn finish(&mut self, from: Span, to: Span, parts: usize, columns: usize, dtype: DType) {
        let text = format!(
            "#define T {}\n#define ACC {}\n#define PARTS {parts}\n#define COLUMNS {columns}\n{}",
            stored(dtype),
            summed(dtype),
            FINISH
        );
        let name = if columns == 1 { "finish_one" } else { "finish_columns" };
        let blocks = if columns == 1 { 1 } else { columns.div_ceil(32) };
        self.launch(name, text, Shape::line(blocks, 256), vec![vec![Word::Address(from)], vec![Word::Address(to)]]);
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), Error> {
        if call.writes.iter().all(|(_, spec)| spec.bytes() == 0) {
            return Ok(());
        }
        match calls::TABLE.iter().find(|(name, _)| *name == call.op.name()) {
            Some((_, lower)) => lower(self, call),
            None => Err(missing(format!("{} has no kernel for this device", call.op.name()))),
        }
    }

    /// Where the row-major elements of an operand begin; they are copied if they are not row-major.
    pub fn contiguous(&mut self, read: &Read) -> Result<Span, Error> {
        let size = read.spec.dtype.size();
        if read.layout.is_contiguous() {
            let span = self.at(read.span);
            let start = span.start + read.layout.offset as usize * size;
            return Ok(Span { start, length: read.spec.bytes(), ..span });
        }
        let to = self.scratch(read.spec.bytes());
        self.copy(read, to)?;
        Ok(to)
    }

    /// Copies an operand to row-major memory.
    pub fn copy(&mut self, read: &Read, to: Span) -> Result<(), Error> {
        if read.spec.bytes() == 0 {
            return Ok(());
        }
        if read.layout.is_contiguous() {
            let from = self.contiguous(read)?;
            self.push(Work::Copy { from, to: Span { length: from.length, ..to } });
            return Ok(());
        }
        calls::copy::strided(self, read, to);
        Ok(())
    }
}

fn is_zero(constant: &Tensor) -> bool {
    constant.row_major_bytes().iter().all(|byte| *byte == 0)
}

fn of_line(error: Error, line: Option<Line>) -> Error {
    line.into_iter().fold(error, Error::of_program)
}

/// The error of a plan that this device cannot run.
pub fn missing(message: String) -> Error {
    Error::new(ErrorKind::Device, "compile", message).help("run this part on the CPU: compile it apart, without on(..)")
}
