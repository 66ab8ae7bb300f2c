//! Loops and branches of a program.

use super::team;
use crate::launch::{Control, Slice, Turn, Work};
use crate::lower::{Call, Lowering};
use crate::machine::TARGET;
use wengert_compiler::plan::{FlowPlan, Kind, Nested, Placed, PlacedLoop, Plan, Read, Scan};
use wengert_compiler::program::{ProgramAttr, ProgramAttrs, staged};
use wengert_compiler::while_gradient_in_loops;
use wengert_core::Error;
use wengert_core::primitive::Spec;
use wengert_kernels::memory::Span;

/// The most steps of a scan that are written one behind the other, and the most with those of the scans inside.
const MOST_STEPS: usize = 4096;
const MOST_IN_ALL: usize = 1 << 16;

/// Launches a loop or a branch.
pub fn flow(
    lowering: &mut Lowering,
    flow: &FlowPlan<Vec<PlacedLoop>>,
    reads: &[Read],
    writes: &[(Span, Spec)],
    scratch: Span,
) -> Result<(), Error> {
    let reads: Vec<(Span, &Read)> = reads.iter().map(|read| (lowering.at(read.span), read)).collect();
    let writes: Vec<Span> = writes.iter().map(|(span, _)| lowering.at(*span)).collect();
    let scratch = lowering.at(scratch);
    match &flow.kind {
        Kind::Scan(one) if team::scan(lowering, one, &reads, &writes) => Ok(()),
        Kind::Scan(one) if one.length <= 1 || steps(one).is_some() => {
            (0..one.parts).try_for_each(|part| scan(lowering, one, part, &reads, &writes, scratch))
        }
        Kind::Scan(one) => repeat(lowering, one, &reads, &writes, scratch),
        Kind::While { consts, test, body } => repeat_while(lowering, *consts, test, body, &reads, &writes, scratch),
        Kind::Switch { branches } => {
            let inputs: Vec<Span> = reads.iter().map(whole).collect();
            let list = |branch| lowering.list(|lowering| run(lowering, branch, scratch, &inputs[1..], &writes));
            let branches = branches.iter().map(list).collect::<Result<_, _>>()?;
            lowering.push(Work::Control(Control::Switch { index: inputs[0], branches }));
            Ok(())
        }
    }
}

/// The steps of a scan and of the scans inside, if they can be written one behind the other: there are not too many, and no number decides.
fn steps(scan: &Scan<Vec<PlacedLoop>>) -> Option<usize> {
    let mut inside = 0;
    for step in &scan.body.plan.steps {
        match step {
            Placed::Flow { flow, .. } => match &flow.kind {
                Kind::Scan(one) => inside += steps(one)?,
                _ => return None,
            },
            Placed::Call { attrs, .. } if attrs.bodies().next().is_some() => return None,
            _ => {}
        }
    }
    let all = scan.length * scan.parts * inside.max(1);
    (scan.length <= MOST_STEPS && all <= MOST_IN_ALL.max(scan.length * scan.parts)).then_some(all)
}

/// The bytes of an operand that is contiguous.
fn whole((span, read): &(Span, &Read)) -> Span {
    let start = span.start + read.layout.offset as usize * read.spec.dtype.size();
    Span { start, length: read.spec.bytes(), ..*span }
}

/// The bytes of a part, if the operand is split.
fn rows(span: Span, part: usize, bytes: usize) -> Span {
    match span.length == bytes {
        true => span,
        false => Span { start: span.start + part * bytes, length: bytes, ..span },
    }
}

/// Adds the launches of a nested plan.
fn run(
    lowering: &mut Lowering,
    body: &Nested<Vec<PlacedLoop>>,
    scratch: Span,
    inputs: &[Span],
    outputs: &[Span],
) -> Result<(), Error> {
    let arena = Span { start: scratch.start + body.arena, length: body.plan.arena, ..scratch };
    lowering.nested(&body.plan, &[&[arena], inputs, outputs].concat(), outputs.len())
}

/// One of the two buffers of every carried value.
fn buffers(body: &Nested<Vec<PlacedLoop>>, turn: usize, scratch: Span) -> Vec<Span> {
    let buffer = |(places, spec): (&[usize; 2], &Spec)| Span {
        start: scratch.start + places[turn % 2],
        length: spec.bytes(),
        ..scratch
    };
    body.carried.iter().zip(&body.outputs).map(buffer).collect()
}

fn copies(lowering: &mut Lowering, from: &[Span], to: &[Span]) {
    from.iter().zip(to).for_each(|(from, to)| lowering.push(Work::Copy { from: *from, to: *to }));
}

/// All steps of one part of a scan, one behind the other.
fn scan(
    lowering: &mut Lowering,
    scan: &Scan<Vec<PlacedLoop>>,
    part: usize,
    reads: &[(Span, &Read)],
    writes: &[Span],
    scratch: Span,
) -> Result<(), Error> {
    let Scan { consts, carry, length, reverse, parts, ref body, scratch: own } = *scan;
    let scratch = Span { start: scratch.start + part * own, length: own, ..scratch };
    let elements = consts + carry;
    let given = reads[..elements].iter().zip(&body.inputs);
    let mut inputs: Vec<Span> = given.map(|(read, spec)| rows(whole(read), part, spec.bytes())).collect();
    for step in 0..length {
        let at = if reverse { length - 1 - step } else { step };
        inputs.truncate(elements);
        inputs.extend(reads[elements..].iter().zip(&body.inputs[elements..]).map(|((span, read), spec)| {
            let first = read.layout.offset + at as isize * read.layout.strides[0];
            let start = span.start + first as usize * spec.dtype.size();
            rows(Span { start, length: read.spec.bytes() / length, ..*span }, part, spec.bytes())
        }));
        let output = |(place, span): (usize, &Span)| {
            let bytes = body.outputs[place].bytes();
            match place < carry {
                true if step + 1 == length => Span { start: span.start + part * bytes, length: bytes, ..*span },
                true => Span { start: scratch.start + body.carried[place][step % 2], length: bytes, ..scratch },
                false => Span { start: span.start + (at * parts + part) * bytes, length: bytes, ..*span },
            }
        };
        let outputs: Vec<Span> = writes.iter().enumerate().map(output).collect();
        run(lowering, body, scratch, &inputs, &outputs)?;
        inputs[consts..elements].copy_from_slice(&outputs[..carry]);
    }
    if length == 0 {
        copies(lowering, &inputs[consts..], writes);
    }
    Ok(())
}

/// A scan whose steps all run the same launches. These read and write slices of the whole arrays at fixed places; the host copies them.
fn repeat(
    lowering: &mut Lowering,
    scan: &Scan<Vec<PlacedLoop>>,
    reads: &[(Span, &Read)],
    writes: &[Span],
    scratch: Span,
) -> Result<(), Error> {
    let Scan { consts, carry, length, reverse, parts, ref body, scratch: own } = *scan;
    let mut slice = |span: Span, start: usize, bytes: usize, stride: usize| {
        let (first, by) = if reverse { (length - 1, -(stride as i64)) } else { (0, stride as i64) };
        let moving = Span { start: start + first * stride, length: bytes, ..span };
        Slice { moving, by, fixed: lowering.scratch(bytes) }
    };
    let (given, scanned) = reads.split_at(consts + carry);
    let load = |(span, read): &(Span, &Read)| {
        let size = read.spec.dtype.size();
        let (start, stride) = (span.start + read.layout.offset as usize * size, read.layout.strides[0] as usize * size);
        slice(*span, start, read.spec.bytes() / length, stride)
    };
    let loads: Vec<Slice> = scanned.iter().map(load).collect();
    let store = |(span, spec): (&Span, &Spec)| {
        let bytes = parts * spec.bytes();
        slice(*span, span.start, bytes, bytes)
    };
    let stores: Vec<Slice> = writes.iter().zip(&body.outputs).skip(carry).map(store).collect();
    // The operands and outputs of a part: what stays or starts, what is scanned, the buffers, and the results.
    struct Part {
        given: Vec<Span>,
        scanned: Vec<Span>,
        buffers: [Vec<Span>; 2],
        scratch: Span,
        last: Vec<Span>,
        stored: Vec<Span>,
    }
    let part = |part: usize| {
        let of = |(span, spec): (Span, &Spec)| rows(span, part, spec.bytes());
        let scratch = Span { start: scratch.start + part * own, length: own, ..scratch };
        Part {
            given: given.iter().map(whole).zip(&body.inputs).map(of).collect(),
            scanned: loads.iter().map(|slice| slice.fixed).zip(&body.inputs[consts + carry..]).map(of).collect(),
            buffers: [0, 1].map(|turn| buffers(body, turn, scratch)),
            scratch,
            last: writes.iter().copied().zip(&body.outputs[..carry]).map(of).collect(),
            stored: stores.iter().map(|slice| slice.fixed).zip(&body.outputs[carry..]).map(of).collect(),
        }
    };
    let parts: Vec<Part> = (0..parts).map(part).collect();
    parts.iter().for_each(|part| copies(lowering, &part.given[consts..], &part.buffers[1]));
    let mut turn = |turn: usize| {
        lowering.list(|lowering| {
            parts.iter().try_for_each(|part| {
                let inputs = [&part.given[..consts], &part.buffers[1 - turn], &part.scanned].concat();
                run(lowering, body, part.scratch, &inputs, &[&part.buffers[turn][..], &part.stored].concat())
            })
        })
    };
    let turns = [turn(0)?, turn(1)?];
    lowering.push(Work::Control(Control::Repeat { steps: length, loads, turns, stores }));
    parts.iter().for_each(|part| copies(lowering, &part.buffers[(length - 1) % 2], &part.last));
    Ok(())
}

/// A loop while a test holds.
fn repeat_while(
    lowering: &mut Lowering,
    consts: usize,
    test: &Nested<Vec<PlacedLoop>>,
    body: &Nested<Vec<PlacedLoop>>,
    reads: &[(Span, &Read)],
    writes: &[Span],
    scratch: Span,
) -> Result<(), Error> {
    let operands: Vec<Span> = reads.iter().map(whole).collect();
    let buffers = [0, 1].map(|turn| buffers(body, turn, scratch));
    let answer = Span { start: scratch.start + test.carried[0][0], length: 1, ..scratch };
    copies(lowering, &operands[consts..], &buffers[1]);
    let mut turn = |turn: usize| -> Result<Turn, Error> {
        let inputs = [&operands[..consts], &buffers[1 - turn]].concat();
        Ok(Turn {
            test: lowering.list(|lowering| run(lowering, test, scratch, &inputs, &[answer]))?,
            body: lowering.list(|lowering| run(lowering, body, scratch, &inputs, &buffers[turn]))?,
            end: lowering.list(|lowering| {
                copies(lowering, &buffers[1 - turn], writes);
                Ok(())
            })?,
        })
    };
    let turns = [turn(0)?, turn(1)?];
    lowering.push(Work::Control(Control::While { answer, turns }));
    Ok(())
}

/// The pullback of a loop, as loops.
pub fn pullback(lowering: &mut Lowering, call: &Call<'_>) -> Result<(), Error> {
    let specs: Vec<Spec> = call.reads.iter().map(|read| read.spec.clone()).collect();
    let program = staged(call.op.name(), &specs, |symbols| while_gradient_in_loops(call.attrs, &symbols));
    let program = ProgramAttr::from(program).optimised();
    let plan = Plan::new(&program, vec![None; call.writes.len()], &TARGET);
    let mut spans = vec![lowering.scratch(plan.arena)];
    for read in call.reads {
        spans.push(lowering.contiguous(read)?);
    }
    spans.extend(call.writes.iter().map(|(span, _)| lowering.at(*span)));
    lowering.nested(&plan, &spans, call.writes.len())
}
