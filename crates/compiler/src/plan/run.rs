//! Runs a plan on host memory.

use super::{Led, Placed, PlacedLoop, Plan, Read, Runner};
use crate::bind::try_bind;
use crate::location::Line;
use crate::primitive::{Out, Spec, View};
use crate::{Error, Tensor};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wengert_kernels::Block;
use wengert_kernels::memory::{Memory, Regions, Span};

/// The memory of one call.
struct Workspace {
    arena: Block,
    regions: Regions,
    /// The regions of nested plans, by depth.
    nested: Vec<Regions>,
}

/// An input of a call: a contiguous tensor, which the call may update.
pub enum Input<'a> {
    /// A tensor that is only read.
    Read(&'a Tensor),
    /// A tensor that an output overwrites.
    Update(&'a mut Tensor),
}

/// The loops of a step as code on host memory.
pub trait LoopKernel: Send + Sync {
    /// Runs the loops.
    fn run(&self, memory: &mut Memory<'_>);

    /// Runs a call on the bytes that it reads and writes, then the loops that follow it, unless the call fails.
    fn follow<E>(
        &self,
        memory: &mut Memory<'_>,
        reads: &[Span],
        writes: &[Span],
        call: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        memory.access(reads, writes, call)?;
        self.run(memory);
        Ok(())
    }
}

/// Runs plans on host memory: loops as prepared by a backend, everything else by the kernels of primitives. Every call takes a workspace
/// from a pool and returns it.
pub struct Host<L> {
    plan: Plan<L>,
    workspaces: Mutex<Vec<Workspace>>,
    /// Whether calls time every step, and the accumulated times.
    is_watched: AtomicBool,
    times: Mutex<Vec<Duration>>,
}

impl<L: LoopKernel> Host<L> {
    /// Prepares a plan: `kernel` compiles the loops of a step, and a loop that follows a call.
    pub fn new(plan: Plan, kernel: &mut dyn FnMut(Vec<PlacedLoop>, Option<Led>) -> L) -> Host<L> {
        let is_watched = AtomicBool::new(false);
        Host { plan: plan.map(kernel), workspaces: Mutex::default(), is_watched, times: Mutex::default() }
    }

    /// Runs the steps, and adds the time of each to those of earlier calls.
    fn run_watched(&self, memory: &mut Memory<'_>, nested: &mut [Regions], line: Line) -> Result<(), Error> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.resize(self.plan.steps.len(), Duration::ZERO);
        self.plan.steps.iter().zip(times.iter_mut()).try_for_each(|(step, time)| {
            let start = Instant::now();
            let result = step.run(memory, nested, line);
            *time += start.elapsed();
            result
        })
    }

    fn take(&self) -> Workspace {
        let free = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| Workspace {
            arena: Block::tight(self.plan.arena),
            regions: Regions::default(),
            nested: (0..self.plan.depth()).map(|_| Regions::default()).collect(),
        })
    }
}

impl<L: LoopKernel> Runner for Host<L> {
    fn run<'a>(
        &'a self,
        inputs: &mut dyn Iterator<Item = Input<'a>>,
        outputs: &mut dyn Iterator<Item = &'a mut Tensor>,
        line: Line,
    ) -> Result<(), Error> {
        let mut workspace = self.take();
        let Workspace { arena, regions, nested } = &mut workspace;
        let mut memory = Memory::new(regions);
        memory.write(arena.bytes_mut().expect("a workspace is nobody else's"));
        for input in inputs {
            match input {
                Input::Read(tensor) => memory.read(tensor.row_major_bytes()),
                Input::Update(tensor) => memory.write(tensor.out().bytes),
            }
        }
        self.plan.constants.iter().for_each(|tensor| memory.read(tensor.row_major_bytes()));
        outputs.for_each(|tensor| memory.write(tensor.out().bytes));
        let result = match self.is_watched.load(Ordering::Relaxed) {
            false => self.plan.run_steps(&mut memory, nested, line),
            true => self.run_watched(&mut memory, nested, line),
        };
        drop(memory);
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        result
    }

    fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    fn take_times(&self) -> Vec<Duration> {
        self.is_watched.store(false, Ordering::Relaxed);
        std::mem::take(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<L: LoopKernel> Plan<L> {
    /// Runs it on the given memory.
    pub(super) fn run_steps(&self, memory: &mut Memory<'_>, nested: &mut [Regions], line: Line) -> Result<(), Error> {
        self.steps.iter().try_for_each(|step| step.run(memory, nested, line))
    }
}

impl<L: LoopKernel> Placed<L> {
    fn run(&self, memory: &mut Memory<'_>, nested: &mut [Regions], line: Line) -> Result<(), Error> {
        match self {
            Placed::Loops(loops) => {
                loops.run(memory);
                Ok(())
            }
            Placed::Copy { read, write } => {
                read.copy(memory, *write);
                Ok(())
            }
            Placed::Flow { flow, gathered, reads, writes, scratch, .. } => {
                gathered.iter().for_each(|(read, write)| read.copy(memory, *write));
                flow.run(memory, nested, *scratch, reads, writes, line)
            }
            Placed::Call { op, attrs, reads, writes, line: own, then, .. } => {
                let run = |bytes: &[&[u8]], out: &mut [&mut [u8]]| {
                    // Filled in place: moving them would take longer than a small kernel.
                    let (mut views, mut outs) = (SmallVec::<[View<'_>; 16]>::new(), SmallVec::<[Out<'_>; 8]>::new());
                    views.extend(reads.iter().zip(bytes).map(|(read, bytes)| read.view(bytes)));
                    outs.extend(writes.iter().zip(out).map(|((_, spec), bytes)| Out { dtype: spec.dtype, bytes }));
                    if op.run(attrs, &views, &mut outs)? {
                        return Ok(());
                    }
                    // A kernel on tensors gets copies, and its results are copied back.
                    let operands: SmallVec<[Tensor; 4]> =
                        views.iter().zip(reads).map(|(view, read)| copied(*view, &read.spec)).collect();
                    let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
                    let results = try_bind(*op, attrs.clone(), &operands, own.unwrap_or(line))?;
                    for (result, out) in results.iter().zip(&mut outs) {
                        wengert_kernels::copy(result.value.view(), out.reborrow());
                    }
                    Ok(())
                };
                let (mut spans, mut results) = (SmallVec::<[Span; 16]>::new(), SmallVec::<[Span; 8]>::new());
                spans.extend(reads.iter().map(|read| read.span));
                results.extend(writes.iter().map(|(span, _)| *span));
                let result: Result<(), Error> = match then {
                    Some(then) => then.follow(memory, &spans, &results, run),
                    None => memory.access(&spans, &results, run),
                };
                result.map_err(|error| error.of_program(own.unwrap_or(line)))
            }
        }
    }
}

fn copied(view: View<'_>, spec: &Spec) -> Tensor {
    Tensor::build(spec, |out| wengert_kernels::copy(view, out)).0
}

impl Read {
    fn copy(&self, memory: &mut Memory<'_>, write: Span) {
        memory.access(&[self.span], &[write], |reads, writes| {
            wengert_kernels::copy(self.view(reads[0]), Out { dtype: self.spec.dtype, bytes: writes[0] });
        });
    }

    fn view<'a>(&'a self, bytes: &'a [u8]) -> View<'a> {
        let Read { spec, layout, .. } = self;
        View { dtype: spec.dtype, bytes, offset: layout.offset, shape: &layout.shape, strides: &layout.strides }
    }
}
