//! Loops and branches of a plan: nested plans, whose memory is part of the outer plan's memory.
//!
//! A body runs in the scratch memory of its step. A carried value alternates between two buffers there; it starts in the operands and ends
//! in the outputs. Elements are read and written in place within the whole arrays. A scan whose rows are independent runs in parts, in
//! parallel.

use super::data::{FlowPlan, Kind, Nested, Scan, Scratch};
use super::loops::PlacedLoop;
use super::run::LoopKernel;
use super::steps::Operand;
use super::{Led, Plan, Read, Target};
use crate::location::Line;
use crate::primitive::{Layout, Spec};
use crate::program::control::{Flow, Parts, ScanForm, input_specs, output_specs};
use crate::program::{Program, ProgramAttr};
use crate::{DType, Error};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};
use wengert_kernels::memory::{Memory, RegionSource, Regions, Span, Stripes};

impl Scratch {
    fn new(target: &Target) -> Scratch {
        Scratch { bytes: 0, alignment: target.alignment }
    }

    pub fn take(&mut self, bytes: usize) -> usize {
        let start = self.bytes;
        self.bytes += bytes.next_multiple_of(self.alignment);
        start
    }
}

impl Nested<Vec<PlacedLoop>> {
    fn new(body: &ProgramAttr, carry: usize, scratch: &mut Scratch, target: &Target) -> Nested<Vec<PlacedLoop>> {
        let program: &Program = body;
        let plan = Plan::new(program, vec![None; program.outputs().len()], target);
        let outputs = output_specs(program);
        let carried = outputs[..carry].iter().map(|spec| [0, 1].map(|_| scratch.take(spec.bytes()))).collect();
        let arena = scratch.take(plan.arena);
        Nested { inputs: input_specs(program), outputs, carried, arena, plan }
    }
}

impl<L> Nested<L> {
    fn map<M>(self, f: &mut dyn FnMut(L, Option<Led>) -> M) -> Nested<M> {
        let Nested { plan, inputs, outputs, carried, arena } = self;
        Nested { plan: plan.map(f), inputs, outputs, carried, arena }
    }

    fn buffer(&self, place: usize, turn: usize, scratch: Span) -> Span {
        let start = scratch.start + self.carried[place][turn % 2];
        Span { start, length: self.outputs[place].bytes(), ..scratch }
    }
}

impl<L: LoopKernel> Nested<L> {
    /// Runs it on spans of the enclosing plan.
    fn run(
        &self,
        memory: &mut Memory<'_>,
        nested: &mut [Regions],
        scratch: Span,
        inputs: &[Span],
        outputs: &[Span],
        line: Line,
    ) -> Result<(), Error> {
        let (regions, deeper) = nested.split_first_mut().expect("room for every depth");
        let mut parts: SmallVec<[RegionSource<'_>; 24]> = SmallVec::new();
        parts.push(RegionSource::Write(Span { start: scratch.start + self.arena, length: self.plan.arena, ..scratch }));
        parts.extend(inputs.iter().map(|span| RegionSource::Read(*span)));
        parts.extend(self.plan.constants.iter().map(|tensor| RegionSource::Bytes(tensor.row_major_bytes())));
        parts.extend(outputs.iter().map(|span| RegionSource::Write(*span)));
        self.plan.run_steps(&mut memory.nest(regions, &parts), deeper, line)
    }
}

impl FlowPlan<Vec<PlacedLoop>> {
    pub(super) fn new(flow: &Flow, target: &Target) -> FlowPlan<Vec<PlacedLoop>> {
        let mut scratch = Scratch::new(target);
        let kind = match flow {
            Flow::Scan(form) => {
                let ScanForm { consts, carry, length, reverse, .. } = *form;
                let (parts, body) = match form.in_parts(target) {
                    Some(Parts { count, body }) => (count, body),
                    None => (1, form.body.clone()),
                };
                let mut own = Scratch::new(target);
                let body = Nested::new(&body, carry, &mut own, target);
                scratch.take(own.bytes * parts);
                Kind::Scan(Box::new(Scan { consts, carry, length, reverse, parts, body, scratch: own.bytes }))
            }
            Flow::While(form) => Kind::While {
                consts: form.consts,
                body: Box::new(Nested::new(&form.body, form.carry(), &mut scratch, target)),
                // The result of the test is stored like a carried value.
                test: Box::new(Nested::new(&form.test, 1, &mut scratch, target)),
            },
            // Only one branch runs at a time, so they share memory.
            Flow::Switch(branches) => {
                let mut largest = 0;
                let mut branch = |body: &ProgramAttr| {
                    let mut own = Scratch::new(target);
                    let nested = Nested::new(body, 0, &mut own, target);
                    largest = largest.max(own.bytes);
                    nested
                };
                let kind = Kind::Switch { branches: branches.iter().map(&mut branch).collect() };
                scratch.bytes = largest;
                kind
            }
        };
        FlowPlan { kind, scratch }
    }
}

impl<L> FlowPlan<L> {
    /// The same with its loops mapped by `f`.
    pub(super) fn map<M>(self, f: &mut dyn FnMut(L, Option<Led>) -> M) -> FlowPlan<M> {
        let kind = match self.kind {
            Kind::Scan(scan) => {
                let Scan { consts, carry, length, reverse, parts, body, scratch } = *scan;
                Kind::Scan(Box::new(Scan { consts, carry, length, reverse, parts, body: body.map(f), scratch }))
            }
            Kind::While { consts, test, body } => {
                Kind::While { consts, test: Box::new(test.map(f)), body: Box::new(body.map(f)) }
            }
            Kind::Switch { branches } => {
                Kind::Switch { branches: branches.into_iter().map(|branch| branch.map(f)).collect() }
            }
        };
        FlowPlan { kind, scratch: self.scratch }
    }

    /// The depth of nested plans.
    pub(super) fn depth(&self) -> usize {
        let of = |nested: &Nested<L>| 1 + nested.plan.depth();
        match &self.kind {
            Kind::Scan(scan) if scan.parts > 1 => scan.parts * (1 + of(&scan.body)),
            Kind::Scan(scan) => of(&scan.body),
            Kind::While { test, body, .. } => of(test).max(of(body)),
            Kind::Switch { branches } => branches.iter().map(of).max().unwrap_or(0),
        }
    }

    /// The number of parts that run in parallel.
    pub(super) fn parts(&self) -> usize {
        if let Kind::Scan(scan) = &self.kind { scan.parts } else { 1 }
    }

    /// Whether an operand can be read in place: it is contiguous, or each element of a scan is.
    pub(super) fn reads_in_place(&self, place: usize, operand: &Operand) -> bool {
        let Layout { shape, strides, offset } = &operand.layout;
        match &self.kind {
            Kind::Scan(scan) if place >= scan.consts + scan.carry => {
                let element = Layout {
                    shape: shape[1..].iter().copied().collect(),
                    strides: strides[1..].iter().copied().collect(),
                    offset: *offset,
                };
                element.is_contiguous() && strides[0] >= 0
            }
            _ => operand.layout.is_contiguous(),
        }
    }
}

impl<L: LoopKernel> FlowPlan<L> {
    /// Runs it with `reads` as the operands and `writes` as the outputs.
    pub(super) fn run(
        &self,
        memory: &mut Memory<'_>,
        nested: &mut [Regions],
        scratch: Span,
        reads: &[Read],
        writes: &[(Span, Spec)],
        line: Line,
    ) -> Result<(), Error> {
        match &self.kind {
            Kind::Scan(scan) if scan.parts > 1 => scan.run_in_parts(memory, nested, scratch, reads, writes, line),
            Kind::Scan(scan) => scan.run(0, memory, nested, scratch, reads, writes, line),
            Kind::While { consts, test, body } => {
                let mut inputs: SmallVec<[Span; 16]> = reads.iter().map(whole).collect();
                let answer = test.buffer(0, 0, scratch);
                let mut turn = 0;
                loop {
                    test.run(memory, nested, scratch, &inputs, &[answer], line)?;
                    if memory.access(&[answer], &[], |reads, _| reads[0][0] == 0) {
                        break;
                    }
                    let outputs: SmallVec<[Span; 8]> =
                        (0..writes.len()).map(|place| body.buffer(place, turn, scratch)).collect();
                    body.run(memory, nested, scratch, &inputs, &outputs, line)?;
                    inputs[*consts..].copy_from_slice(&outputs);
                    turn += 1;
                }
                let spans = inputs[*consts..].iter().zip(writes);
                spans.for_each(|(from, (to, _))| copy(memory, *from, *to));
                Ok(())
            }
            Kind::Switch { branches } => {
                let inputs: SmallVec<[Span; 16]> = reads.iter().map(whole).collect();
                let index = memory.access(&[inputs[0]], &[], |bytes, _| match reads[0].spec.dtype {
                    DType::Bool => i64::from(bytes[0][0]),
                    _ => bytemuck::pod_read_unaligned(bytes[0]),
                });
                let chosen = &branches[index.clamp(0, branches.len() as i64 - 1) as usize];
                let outputs: SmallVec<[Span; 8]> = writes.iter().map(|(span, _)| *span).collect();
                chosen.run(memory, nested, scratch, &inputs[1..], &outputs, line)
            }
        }
    }
}

/// The bytes of a contiguous operand.
fn whole(read: &Read) -> Span {
    let start = read.span.start + read.layout.offset as usize * read.spec.dtype.size();
    Span { start, length: read.spec.bytes(), ..read.span }
}

impl<L: LoopKernel> Scan<L> {
    /// Runs the parts on all threads; each writes its own rows and scratch memory.
    fn run_in_parts(
        &self,
        memory: &mut Memory<'_>,
        nested: &mut [Regions],
        scratch: Span,
        reads: &[Read],
        writes: &[(Span, Spec)],
        line: Line,
    ) -> Result<(), Error> {
        let Scan { parts, scratch: own, carry, .. } = *self;
        let rows = |(place, (span, _)): (usize, &(Span, Spec))| {
            let each = self.body.outputs[place].bytes();
            let length = if place < carry { each * parts } else { each * parts * self.length };
            Stripes { span: Span { length, ..*span }, period: each * parts, each }
        };
        let mut stripes: SmallVec<[Stripes; 8]> = writes.iter().enumerate().map(rows).collect();
        stripes.push(Stripes { span: Span { length: own * parts, ..scratch }, period: own * parts, each: own });
        stripes.retain(|stripes| stripes.span.length > 0);
        let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        memory.share(parts, &stripes, nested, &|part, memory, nested| {
            let scratch = Span { start: scratch.start + part * own, length: own, ..scratch };
            if let Err(error) = self.run(part, memory, nested, scratch, reads, writes, line) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(first, _)| part < *first) {
                    *failed = Some((part, error));
                }
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Runs all steps of one part.
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        part: usize,
        memory: &mut Memory<'_>,
        nested: &mut [Regions],
        scratch: Span,
        reads: &[Read],
        writes: &[(Span, Spec)],
        line: Line,
    ) -> Result<(), Error> {
        let Scan { consts, carry, length, reverse, parts, body, .. } = self;
        let elements = consts + carry;
        // The rows of this part within `bytes`, if the tensor is split.
        let rows = |span: Span, bytes: usize| match span.length == bytes {
            true => span,
            false => Span { start: span.start + part * bytes, length: bytes, ..span },
        };
        let given = reads[..elements].iter().zip(&body.inputs);
        let mut inputs: SmallVec<[Span; 16]> = given.map(|(read, spec)| rows(whole(read), spec.bytes())).collect();
        for step in 0..*length {
            let at = if *reverse { length - 1 - step } else { step };
            inputs.truncate(elements);
            inputs.extend(reads[elements..].iter().zip(&body.inputs[elements..]).map(|(read, spec)| {
                let first = read.layout.offset + at as isize * read.layout.strides[0];
                let start = read.span.start + first as usize * spec.dtype.size();
                rows(Span { start, length: read.spec.bytes() / length, ..read.span }, spec.bytes())
            }));
            let is_last = step + 1 == *length;
            let output = |(place, (span, _)): (usize, &(Span, Spec))| {
                let bytes = body.outputs[place].bytes();
                match place < *carry {
                    true if is_last => Span { start: span.start + part * bytes, length: bytes, ..*span },
                    true => body.buffer(place, step, scratch),
                    false => Span { start: span.start + (at * parts + part) * bytes, length: bytes, ..*span },
                }
            };
            let outputs: SmallVec<[Span; 8]> = writes.iter().enumerate().map(output).collect();
            body.run(memory, nested, scratch, &inputs, &outputs, line)?;
            inputs[*consts..elements].copy_from_slice(&outputs[..*carry]);
        }
        if *length == 0 {
            let spans = inputs[*consts..].iter().zip(writes);
            spans.for_each(|(from, (to, _))| copy(memory, *from, *to));
        }
        Ok(())
    }
}

fn copy(memory: &mut Memory<'_>, from: Span, to: Span) {
    memory.access(&[from], &[to], |reads, writes| writes[0].copy_from_slice(reads[0]));
}
