//! Loops that run together: their tasks form one region, so many small loops cost no more than a large one.

use super::run::{Call, PARALLEL_WORK};
use super::{Destination, Tiled};
use crate::memory::{Memory, Span};
use crate::pool::Block;
use crate::threads::{Disjoint, for_each_tile};
use smallvec::SmallVec;

use super::fold::Sum;

/// The most tasks that a loop is cut into, and the least work of each.
const MOST_TASKS: usize = 64;
const TASK_WORK: usize = 100_000;

/// Loops and the bytes that they read and write. No loop uses bytes that another one writes.
pub struct Loops {
    loops: Vec<Bound>,
    tasks: usize,
    /// The total work: elements times instructions.
    work: usize,
    /// The number of sums of all tasks.
    sums: usize,
}

/// A loop with its spans.
pub(super) struct Bound {
    pub tiled: Box<Tiled>,
    pub reads: Vec<Span>,
    pub writes: Vec<Span>,
    /// Its first task, its number of tasks, and the elements of each.
    first: usize,
    tasks: usize,
    each: usize,
    /// The number of partial sums of each output, their total in one task, and the position of those of the first task.
    pub widths: Vec<usize>,
    pub width: usize,
    sums: usize,
}

/// Memory that tasks share.
struct Shared<'a, 'm>(&'a Memory<'m>);

// SAFETY: tasks only call `Memory::start_of`, which reads. `run_task` uses the memory at the addresses: each element of an output is
// accessed by the one task that owns it, and no code writes what is read, as `Loops::new` asserts.
unsafe impl Sync for Shared<'_, '_> {}

impl Loops {
    /// Loops with spans for their operands and outputs. An output may be the span of a contiguous operand of its loop with elements of the
    /// same size, if the loop overwrites it. Panics if spans are too short, or if a written span is used in any other way.
    pub fn new(loops: Vec<(Box<Tiled>, Vec<Span>, Vec<Span>)>) -> Loops {
        let mut group = Loops { loops: Vec::new(), tasks: 0, work: 0, sums: 0 };
        for (tiled, reads, writes) in loops {
            tiled.expect_apart(&reads, &writes);
            for other in &group.loops {
                let apart = |a: &[Span], b: &[Span]| a.iter().all(|a| b.iter().all(|b| !a.overlaps(b)));
                let disjoint =
                    apart(&writes, &other.writes) && apart(&writes, &other.reads) && apart(&reads, &other.writes);
                assert!(disjoint, "tiled: loops that run together use what one of them writes");
            }
            let (elements, work) = (tiled.elements(), tiled.work());
            let tasks = if work < PARALLEL_WORK { 1 } else { (work / TASK_WORK).min(MOST_TASKS) };
            let each = elements.div_ceil(tasks).next_multiple_of(tiled.tile.max(1)).max(1);
            let tasks = elements.div_ceil(each).max(1);
            let widths: Vec<usize> = tiled.outputs.iter().map(|output| tiled.sums_of(output.destination)).collect();
            let width = widths.iter().sum();
            let bound =
                Bound { tiled, reads, writes, first: group.tasks, tasks, each, widths, width, sums: group.sums };
            group.tasks += tasks;
            group.work += work;
            group.sums += tasks * width;
            group.loops.push(bound);
        }
        group
    }

    /// Runs all loops.
    pub fn run(&self, memory: &mut Memory<'_>) {
        // Every region is checked here once, so nothing is out of bounds later.
        let mut sums = Block::new(self.sums * size_of::<Sum>());
        let sums = sums.bytes_mut().expect("a new block is unique");
        sums.fill(0);
        {
            let (shared, memory) = (Disjoint::new(&mut *sums), Shared(memory));
            let body = |task: usize| {
                let memory = &memory;
                let bound = &self.loops[self.loops.partition_point(|bound| bound.first <= task) - 1];
                let own = task - bound.first;
                let range = own * bound.each..((own + 1) * bound.each).min(bound.tiled.elements());
                let length = bound.width * size_of::<Sum>();
                // SAFETY: each task runs once; the sums of loops are adjacent, with `length` bytes for each of their tasks.
                let sums = unsafe { shared.range(bound.sums * size_of::<Sum>() + own * length, length) };
                bound.tiled.run_task(&Call::new(bound, memory.0), range, sums);
            };
            match self.work < PARALLEL_WORK {
                true => (0..self.tasks).for_each(body),
                false => for_each_tile(self.tasks, &body),
            }
        }
        for bound in &self.loops {
            let sums = &mut sums[bound.sums * size_of::<Sum>()..];
            bound.write_sums(memory, sums, bound.tasks);
        }
    }

    /// The loop, if there is only one.
    pub(super) fn only(&self) -> &Bound {
        let [only] = &self.loops[..] else { unreachable!("one loop") };
        only
    }
}

impl Bound {
    /// Memory for the sums of some tasks, all 0.
    pub fn sums(&self, tasks: usize) -> Block {
        let mut sums = Block::new(tasks * self.width * size_of::<Sum>());
        sums.bytes_mut().expect("a new block is unique").fill(0);
        sums
    }

    /// Adds up the sums of all tasks.
    pub fn write_sums(&self, memory: &Memory<'_>, sums: &mut [u8], tasks: usize) {
        if self.width > 0 {
            let sums = &mut sums[..tasks * self.width * size_of::<Sum>()];
            self.tiled.write_sums(&Call::new(self, memory), &self.widths, sums, &self.writes);
        }
    }
}

impl Tiled {
    /// The number of elements times the number of instructions.
    fn work(&self) -> usize {
        self.elements() * (self.steps.len() + self.operands.len() + self.outputs.len())
    }

    /// Whether parts of multiples of `granule` elements are multiples of a tile.
    pub(super) fn runs_on(&self, granule: usize) -> bool {
        !self.by_rows || (self.cols > 0 && granule.is_multiple_of(self.cols))
    }

    /// The number of partial sums of an output.
    pub(super) fn sums_of(&self, destination: Destination) -> usize {
        match destination {
            Destination::Each => 0,
            Destination::Total => 1,
            Destination::Columns => self.cols,
        }
    }
}

impl<'a> Call<'a> {
    pub(super) fn new(bound: &'a Bound, memory: &Memory<'_>) -> Call<'a> {
        // Filled in place.
        let mut call = Call { reads: &bound.reads, operands: SmallVec::new(), outputs: SmallVec::new() };
        call.operands.extend(bound.reads.iter().map(|span| memory.start_of(span, false).cast_const()));
        call.outputs.extend(bound.writes.iter().map(|span| memory.start_of(span, true)));
        call
    }
}
