//! Loops and branches of a program.

use super::team;
use crate::launch::Work;
use crate::lower::{Lowering, missing};
use wengert_compiler::plan::{FlowPlan, Kind, PlacedLoop, Read, Scan};
use wengert_core::Error;
use wengert_core::primitive::Spec;
use wengert_kernels::memory::Span;

/// The most steps of a scan that are written one behind the other.
const MOST_STEPS: usize = 4096;

/// Launches a loop or a branch.
pub fn flow(
    lowering: &mut Lowering,
    name: &str,
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
        Kind::Scan(one) if one.length <= MOST_STEPS => {
            (0..one.parts).try_for_each(|part| scan(lowering, one, part, &reads, &writes, scratch))
        }
        Kind::Scan(one) => Err(missing(format!("a scan of {} steps is longer than {MOST_STEPS}", one.length))),
        Kind::While { .. } | Kind::Switch { .. } => Err(missing(format!("{name} has no kernel for this device"))),
    }
}

/// The bytes of an operand that is contiguous.
fn whole((span, read): &(Span, &Read)) -> Span {
    let start = span.start + read.layout.offset as usize * read.spec.dtype.size();
    Span { start, length: read.spec.bytes(), ..*span }
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
    // The rows of this part, if the operand is split.
    let rows = |span: Span, bytes: usize| match span.length == bytes {
        true => span,
        false => Span { start: span.start + part * bytes, length: bytes, ..span },
    };
    let given = reads[..elements].iter().zip(&body.inputs);
    let mut inputs: Vec<Span> = given.map(|(read, spec)| rows(whole(read), spec.bytes())).collect();
    for step in 0..length {
        let at = if reverse { length - 1 - step } else { step };
        inputs.truncate(elements);
        inputs.extend(reads[elements..].iter().zip(&body.inputs[elements..]).map(|((span, read), spec)| {
            let first = read.layout.offset + at as isize * read.layout.strides[0];
            let start = span.start + first as usize * spec.dtype.size();
            rows(Span { start, length: read.spec.bytes() / length, ..*span }, spec.bytes())
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
        let arena = Span { start: scratch.start + body.arena, length: body.plan.arena, ..scratch };
        let spans: Vec<Span> =
            std::iter::once(arena).chain(inputs.iter().copied()).chain(outputs.iter().copied()).collect();
        lowering.nested(&body.plan, &spans, outputs.len())?;
        inputs[consts..elements].copy_from_slice(&outputs[..carry]);
    }
    if length == 0 {
        for (from, to) in inputs[consts..].iter().zip(writes) {
            lowering.push(Work::Copy { from: *from, to: *to });
        }
    }
    Ok(())
}
