//! Loops and branches of a plan: plans inside a plan, whose memory is part of its memory.
//!
//! A body runs in scratch memory of its step. What a loop carries goes to and fro between two buffers there; it begins in the
//! operands and ends in the outputs. Elements are read and written where they lie in the whole.

use super::lower::Operand;
use super::{ALIGNMENT, Plan, Read};
use crate::location::Line;
use crate::primitive::{Layout, Spec};
use crate::program::control::{Flow, input_specs, output_specs};
use crate::program::{Program, ProgramAttr};
use crate::{DType, Error};
use smallvec::SmallVec;
use wengert_kernels::memory::{Memory, Part, Regions, Span};

/// How a loop or a branch runs.
pub(super) struct FlowPlan {
    kind: Kind,
    /// Bytes of scratch memory.
    pub scratch: Scratch,
}

enum Kind {
    Scan { consts: usize, carry: usize, length: usize, reverse: bool, body: Box<Nested> },
    While { consts: usize, test: Box<Nested>, body: Box<Nested> },
    Switch { branches: Vec<Nested> },
}

/// A plan that runs inside another.
struct Nested {
    plan: Plan,
    inputs: Vec<Spec>,
    outputs: Vec<Spec>,
    /// Two buffers for every value that is carried: where they begin in the scratch memory.
    carried: Vec<[usize; 2]>,
    /// Where its own workspace begins there.
    arena: usize,
}

/// Scratch memory that is being shared out.
#[derive(Default)]
pub(super) struct Scratch(pub usize);

impl Scratch {
    pub fn take(&mut self, bytes: usize) -> usize {
        let start = self.0;
        self.0 += bytes.next_multiple_of(ALIGNMENT);
        start
    }
}

impl Nested {
    fn new(body: &ProgramAttr, carry: usize, scratch: &mut Scratch) -> Nested {
        let program: &Program = body;
        let plan = Plan::new(program, vec![None; program.outputs().len()]);
        let outputs = output_specs(program);
        let carried = outputs[..carry].iter().map(|spec| [0, 1].map(|_| scratch.take(spec.bytes()))).collect();
        let arena = scratch.take(plan.arena);
        Nested { inputs: input_specs(program), outputs, carried, arena, plan }
    }

    /// Runs it on spans of the plan around it.
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
        let mut parts: SmallVec<[Part<'_>; 24]> = SmallVec::new();
        parts.push(Part::Write(Span { start: scratch.start + self.arena, length: self.plan.arena, ..scratch }));
        parts.extend(inputs.iter().map(|span| Part::Read(*span)));
        parts.extend(self.plan.constants.iter().map(|tensor| Part::Bytes(tensor.row_major_bytes())));
        parts.extend(outputs.iter().map(|span| Part::Write(*span)));
        self.plan.run_steps(&mut memory.nest(regions, &parts), deeper, line)
    }

    fn buffer(&self, place: usize, turn: usize, scratch: Span) -> Span {
        let start = scratch.start + self.carried[place][turn % 2];
        Span { start, length: self.outputs[place].bytes(), ..scratch }
    }
}

impl FlowPlan {
    pub fn new(flow: &Flow) -> FlowPlan {
        let mut scratch = Scratch::default();
        let kind = match flow {
            Flow::Scan(form) => Kind::Scan {
                consts: form.consts,
                carry: form.carry,
                length: form.length,
                reverse: form.reverse,
                body: Box::new(Nested::new(&form.body, form.carry, &mut scratch)),
            },
            Flow::While(form) => Kind::While {
                consts: form.consts,
                body: Box::new(Nested::new(&form.body, form.carry(), &mut scratch)),
                // The answer of the test is kept as if it were carried.
                test: Box::new(Nested::new(&form.test, 1, &mut scratch)),
            },
            // One branch runs at a time: they share their memory.
            Flow::Switch(branches) => {
                let mut largest = 0;
                let mut branch = |body: &ProgramAttr| {
                    let mut own = Scratch::default();
                    let nested = Nested::new(body, 0, &mut own);
                    largest = largest.max(own.0);
                    nested
                };
                let kind = Kind::Switch { branches: branches.iter().map(&mut branch).collect() };
                scratch.0 = largest;
                kind
            }
        };
        FlowPlan { kind, scratch }
    }

    /// How many plans lie inside each other.
    pub fn depth(&self) -> usize {
        let of = |nested: &Nested| nested.plan.depth();
        1 + match &self.kind {
            Kind::Scan { body, .. } => of(body),
            Kind::While { test, body, .. } => of(test).max(of(body)),
            Kind::Switch { branches } => branches.iter().map(of).max().unwrap_or(0),
        }
    }

    /// Whether an operand can be read where it lies: in one piece, or one piece for each element of a scan.
    pub fn reads_in_place(&self, place: usize, operand: &Operand) -> bool {
        let Layout { shape, strides, offset } = &operand.layout;
        match &self.kind {
            Kind::Scan { consts, carry, .. } if place >= consts + carry => {
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

    /// Runs it: `reads` are the operands, `writes` the outputs.
    pub fn run(
        &self,
        memory: &mut Memory<'_>,
        nested: &mut [Regions],
        scratch: Span,
        reads: &[Read],
        writes: &[(Span, Spec)],
        line: Line,
    ) -> Result<(), Error> {
        let whole = |read: &Read| {
            let size = read.spec.dtype.size();
            Span { start: read.span.start + read.layout.offset as usize * size, length: read.spec.bytes(), ..read.span }
        };
        match &self.kind {
            Kind::Scan { consts, carry, length, reverse, body } => {
                let elements = consts + carry;
                let mut inputs: SmallVec<[Span; 16]> = reads[..elements].iter().map(whole).collect();
                for step in 0..*length {
                    let at = if *reverse { length - 1 - step } else { step };
                    inputs.truncate(elements);
                    inputs.extend(reads[elements..].iter().zip(&body.inputs[elements..]).map(|(read, spec)| {
                        let first = read.layout.offset + at as isize * read.layout.strides[0];
                        let start = read.span.start + first as usize * spec.dtype.size();
                        Span { start, length: spec.bytes(), ..read.span }
                    }));
                    let is_last = step + 1 == *length;
                    let output = |(place, (span, _)): (usize, &(Span, Spec))| match place < *carry {
                        true if is_last => *span,
                        true => body.buffer(place, step, scratch),
                        false => {
                            let bytes = body.outputs[place].bytes();
                            Span { start: span.start + at * bytes, length: bytes, ..*span }
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

fn copy(memory: &mut Memory<'_>, from: Span, to: Span) {
    memory.access(&[from], &[to], |reads, writes| writes[0].copy_from_slice(reads[0]));
}
