//! A loop that follows a kernel: it runs on the parts of the output that the kernel has completed.

use super::Tiled;
use super::fold::Sum;
use super::group::{Bound, Loops};
use super::run::Call;
use crate::follow::{Follower, with};
use crate::memory::{Memory, Span};
use crate::pool::Block;
use std::ops::Range;
use std::sync::OnceLock;

/// A kernel's spans, and a loop that reads its output element by element.
pub struct Followed {
    reads: Vec<Span>,
    led: Span,
    loops: Loops,
}

impl Followed {
    /// A kernel that reads `reads` and writes `led`, and a loop with its spans, as for [`Loops::new`]. Panics if the loop does not read
    /// `led` sequentially from start to end, or if it writes an input of the kernel.
    pub fn new(reads: Vec<Span>, led: Span, tiled: Box<Tiled>, operands: Vec<Span>, outputs: Vec<Span>) -> Followed {
        for (number, span) in operands.iter().enumerate() {
            let in_order = *span == led && tiled.reads_whole(number);
            assert!(in_order || !span.overlaps(&led), "tiled: a loop reads what is not complete");
        }
        let apart = |span: &Span| reads.iter().all(|read| !read.overlaps(span));
        assert!(outputs.iter().all(apart), "tiled: a loop writes what is still read");
        let is_own = |span: &Span| *span == led && operands.contains(&led);
        assert!(
            outputs.iter().all(|span| is_own(span) || !span.overlaps(&led)),
            "tiled: a loop writes what another does"
        );
        Followed { reads, led, loops: Loops::new(vec![(tiled, operands, outputs)]) }
    }

    /// The loop by itself, to run after the kernel has finished.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Runs the kernel, given its inputs and output, followed by the loop unless the kernel fails.
    pub fn run<E>(
        &self,
        memory: &mut Memory<'_>,
        kernel: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        let bound = self.loops.only();
        let led = memory.start_of(&self.led, true);
        let running =
            Running { bound, led: self.led, start: led, call: Call::new(bound, memory), parts: OnceLock::new() };
        memory.access(&self.reads, &[self.led], |reads, writes| with(&running, || kernel(reads, writes)))?;
        match running.parts.into_inner() {
            Some(mut parts) => bound.write_sums(memory, parts.sums.bytes_mut().expect("nobody else's"), parts.tasks),
            None => self.loops.run(memory),
        }
        Ok(())
    }
}

/// A loop that waits for its kernel.
struct Running<'a> {
    bound: &'a Bound,
    led: Span,
    start: *const u8,
    call: Call<'a>,
    /// Set when the kernel begins to deliver parts.
    parts: OnceLock<Parts<'a>>,
}

// SAFETY: the addresses are of spans of a `Memory` that `run` borrows mutably. They are used in `part`, for elements that come once: those
// of the kernel's output are complete and not accessed meanwhile, as `Follower::part` guarantees, and no code reads the other outputs of
// the loop, as `Followed::new` and `Loops::new` assert.
unsafe impl Sync for Running<'_> {}

struct Parts<'a> {
    call: Call<'a>,
    tasks: usize,
    sums: Block,
    first_sum: *mut u8,
}

impl Follower for Running<'_> {
    fn awaits(&self) -> (*const u8, usize) {
        (self.start, self.led.length)
    }

    fn begin(&self, granule: usize, tasks: usize, start: *mut u8) -> bool {
        if !self.bound.tiled.runs_on(granule) {
            return false;
        }
        // Memory that the kernel has borrowed is accessed through the pointer that it passed.
        let mut call = self.call.clone();
        for (place, _) in call.operands.iter_mut().zip(&self.bound.reads).filter(|(_, span)| **span == self.led) {
            *place = start.cast_const();
        }
        for (place, _) in call.outputs.iter_mut().zip(&self.bound.writes).filter(|(_, span)| **span == self.led) {
            *place = start;
        }
        let mut sums = self.bound.sums(tasks);
        let first_sum = sums.bytes_mut().expect("a new block is unique").as_mut_ptr();
        self.parts.set(Parts { call, tasks, sums, first_sum }).is_ok()
    }

    unsafe fn part(&self, task: usize, elements: Range<usize>) {
        let parts = self.parts.get().expect("it has begun");
        assert!(task < parts.tasks && elements.end <= self.bound.tiled.elements(), "a part that was not agreed to");
        let length = self.bound.width * size_of::<Sum>();
        // SAFETY: `begin` made sums of `length` bytes for each of `parts.tasks` tasks, and `task` is one of them. Its parts come one after
        // the other, as `Follower::part` guarantees, and no other code uses its sums before `run` takes all.
        let sums = unsafe { std::slice::from_raw_parts_mut(parts.first_sum.add(task * length), length) };
        self.bound.tiled.run_task(&parts.call, elements, sums);
    }
}
